import { describe, expect, test } from 'vitest'
import type { WaitedOutcome } from '../../jobs/commands/run-and-wait.ts'
import { waitedText } from '../../src/cli/run.ts'
import { emptyReport, type Report } from '../../src/model/report.ts'
import { cancel, run, untilDelayed } from '../support/commands.ts'
import { aGate } from '../support/gate.ts'
import { aJobsWorkplace, FAR_AWAY, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { runCli } from '../support/run-cli.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

// Other processes cannot add to an embedded queue.
if (!isEmbedded) {
  describe('run', () => {
    test('puts one job into the queue, even if it is repeated', async () => {
      const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1, 1] })))
      const first = await run(place, ['acme', 'globex'])
      const second = await run(place, ['acme'])
      const { queues } = await someQueues(place.queue, place.mirror)

      expect(first).toMatchObject({ code: 0, stdout: 'acme: queued\nglobex: queued\n' })
      expect(second).toMatchObject({ code: 0, stdout: 'acme: is queued already\n' })
      const jobs = await queues.sync.getWaiting()
      expect(jobs.map(({ name, data }) => `${name} ${data.organization}`).toSorted()).toEqual([
        'manual acme',
        'manual globex',
      ])
    })

    test('--wait waits for several organizations, and ends as sync ends', async () => {
      const sandbox = await aSandbox({ customers: [250, 40], forbidden: ['globex'] })
      const place = aJobsWorkplace(organizationsOf(sandbox))
      startWorker(place)
      const { code, stdout, stderr } = await run(place, ['acme', 'globex', '--wait'])

      expect(code).toBe(3)
      expect(stdout).toMatch(/^acme +complete +250 /m)
      expect(stdout).toMatch(/^globex +failed: forbidden /m)
      expect(stdout).toContain(`Mirror: ${place.mirror}`)
      expect(stderr).toContain('✖ globex: plan forbids')
      expect((await run(place, ['globex', '--wait'])).code).toBe(4)
    })

    test('on Ctrl-C it waits no longer, and says that the run goes on', async () => {
      const gate = aGate({ fromPage: 2 })
      const sandbox = await aSandbox({ customers: [250], intercept: gate.intercept })
      const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
      const worker = startWorker(place)
      await gate.reached
      const stop = new AbortController()
      const stopOnceAsked = (text: string) => {
        if (text.includes('is being mirrored')) stop.abort()
      }
      const { stdout, stderr } = await run(place, ['acme', '--wait'], { signal: stop.signal, onStderr: stopOnceAsked })
      gate.open()
      await worker.ran('acme')

      expect(stdout).toBe('')
      expect(stderr).toContain('its job goes on without this command')
      expect(stderr).toContain(`'customer-mirror cancel acme --config ${place.config}' ends it`)
    })

    test('with --timeout it ends with 5 while no worker takes the job, which stays', async () => {
      const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
      const { code } = await run(place, ['acme', '--wait', '--timeout', '1ms'])
      const { queues } = await someQueues(place.queue, place.mirror)

      expect(code).toBe(5)
      expect(await queues.sync.getJobCountByTypes('waiting')).toBe(1)
    })

    test('--now does not start a job whose service said when to come back, and says when that is', async () => {
      const rateLimits = [{ organization: 'acme', requests: 2, windowMs: 90_000 }]
      const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [500], rateLimits })))
      const worker = startWorker(place)
      await worker.ran('acme', 'wait')
      const { queues } = await someQueues(place.queue, place.mirror)
      await untilDelayed(queues)
      const { code, stdout } = await run(place, ['acme', '--now'])

      expect(code).toBe(5)
      expect(stdout).toMatch(
        /^acme: has a job that starts by itself at 20\d\d-\S+ \d\d:\d\d:\d\d UTC: until then, its service asked/,
      )
      expect(await queues.sync.getJobCountByTypes('delayed')).toBe(1)
    })
  })
}

const ONE = { customers: [1] }
const UNREACHABLE = { queue: 'redis://127.0.0.1:1' }

test.each<[line: string, settings: object, code: number, said: RegExp]>([
  ['run acme', UNREACHABLE, 5, /The queue at redis:\/\/127\.0\.0\.1:1 cannot be used/],
  ['run acme', { queue: 'embedded' }, 2, /customer-mirror sync/],
  ['run acme --wait', { queue: 'embedded' }, 2, /customer-mirror sync/],
  ['worker', {}, 2, /queue: redis:\/\/127\.0\.0\.1:6379/],
  ['worker --embedded', { schedule: { ...FAR_AWAY, cron: '0 2 31 2 *' } }, 2, /of acme: its cron line names no moment/],
  ['worker --embedded --allow-host http://x', {}, 2, /--allow-host http:\/\/x: this is no name of a host/],
])('%s with %j ends with %i, and says what to do', async (line, settings, code, said) => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox(ONE)), settings)

  expect(await runCli(line.split(' '), { cwd: folder })).toMatchObject({ code, stderr: expect.stringMatching(said) })
})

test('the password of a queue in the environment is not repeated; an embedded queue cannot be asked to cancel', async () => {
  const place = aWorkplace(organizationsOf(await aSandbox(ONE)), { queue: 'embedded' })
  const env = { CUSTOMER_MIRROR_QUEUE: 'redis://:made-up-password@127.0.0.1:1' }
  const { code, stderr } = await runCli(['run', 'acme'], { cwd: place.folder, env })

  expect({ code, stderr }).toEqual({ code: 5, stderr: expect.not.stringContaining('made-up-password') })
  expect(await cancel(place, 'acme')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Stop that worker (Ctrl-C or SIGTERM)'),
  })
})

const DONE = { status: 'complete', received: 7, inserted: 7 } as const
const FAILED = { error: { code: 'network', message: 'acme: unreachable' } }

test.each<[from: WaitedOutcome['from'], changes: Partial<Report>, said: RegExp]>([
  ['mirror', DONE, /^acme +complete +7 [^]*\nMirror: \/data\/customers\.db\n$/m],
  ['queue', DONE, /^acme: complete: 7 customers: 7 new, 0 changed, .*Its mirror is not on this machine: look there/],
  ['queue', FAILED, /^acme +failed: network (?![^]*Mirror:)/m],
  ['none-needed', {}, /^acme: no run was made, because its list had been read since it was due\.\n$/],
  ['none-possible', {}, /^acme: no quick run was made, because a full run is under way/],
])('what is shown of a job that ended, known from %s: %j', (from, changes, said) => {
  const report = { ...emptyReport({ organization: 'acme', trigger: 'manual', startedAtMs: 0 }), ...changes }
  const outcome = { report, error: report.error && new Error('unreachable') }

  expect(waitedText([{ from, outcome }], { mirrorFile: '/data/customers.db', screen: undefined })).toMatch(said)
})
