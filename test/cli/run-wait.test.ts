import { describe, expect, test } from 'vitest'
import type { Queues } from '../../jobs/queue/queues.ts'
import { eventually } from '../support/eventually.ts'
import { aGate } from '../support/gate.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { runCli } from '../support/run-cli.ts'
import { startWorker } from '../support/worker-here.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

// Other processes cannot add to an embedded queue.
if (!isEmbedded) {
  describe('run --wait', () => {
    test('waits for several organizations, and ends as sync ends', async () => {
      const sandbox = await aSandbox({ customers: [250, 40], forbidden: ['globex'] })
      const place = aJobsWorkplace(organizationsOf(sandbox))
      startWorker(place)
      const { code, stdout, stderr } = await run(place, ['acme', 'globex', '--wait'])
      const refused = await run(place, ['globex', '--wait'])

      expect(code).toBe(3)
      expect(stdout).toMatch(/^acme +complete +250 /m)
      expect(stdout).toMatch(/^globex +failed: forbidden /m)
      expect(stdout).toContain(`Mirror: ${place.mirror}`)
      expect(stderr).toContain('✖ globex: plan forbids')
      expect(refused.code).toBe(4)
    })

    test('on Ctrl+C it waits no longer, and says that the run goes on', async () => {
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

    test('a job that is cancelled before it starts ends the wait', async () => {
      const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
      const { backend, queues } = await someQueues(place.queue, place.mirror)
      const cancelOnceAsked = (text: string) => {
        if (!text.includes('acme: queued')) return
        void (async () => {
          const id = (await queues.sync.getDeduplicationJobId('acme')) ?? ''
          await backend.values.write('cancel:acme', JSON.stringify({ jobs: [id], askedAtMs: Date.now(), untilMs: 0 }))
          await (await queues.sync.getJob(id))?.remove()
        })()
      }
      const { code, stdout } = await run(place, ['acme', '--wait'], { onStderr: cancelOnceAsked })

      expect(code).toBe(3)
      expect(stdout).toMatch(/^acme +failed: cancelled /m)
    })
  })
}

if (!isEmbedded) {
  describe('run --now', () => {
    test('starts a job that waits for its next attempt', async () => {
      let isDown = true
      const sandbox = await aSandbox({
        customers: [20],
        intercept: async (_context, next) => (isDown ? new Response('down', { status: 500 }) : next()),
      })
      const place = aJobsWorkplace(organizationsOf(sandbox, { maxWait: '0s' }))
      const worker = startWorker(place, { timings: { firstRetryMs: 3_600_000, longestRetryMs: 3_600_000 } })
      await worker.ran('acme', 'retry')
      isDown = false
      const { queues } = await someQueues(place.queue, place.mirror)
      await untilDelayed(queues)
      const without = await run(place, ['acme'])
      const withNow = await run(place, ['acme', '--now', '--wait'])

      expect(without).toMatchObject({ code: 0, stdout: expect.stringContaining('--now starts it') })
      expect(withNow).toMatchObject({ code: 0, stdout: expect.stringMatching(/^acme +complete +20 /m) })
    })

    test('does not start a job whose service said when to come back, and says when that is', async () => {
      const sandbox = await aSandbox({
        customers: [500],
        rateLimits: [{ organization: 'acme', requests: 2, windowMs: 90_000 }],
      })
      const place = aJobsWorkplace(organizationsOf(sandbox))
      const worker = startWorker(place)
      await worker.ran('acme', 'wait')
      const { queues } = await someQueues(place.queue, place.mirror)
      await untilDelayed(queues)
      const { code, stdout } = await run(place, ['acme', '--now'])

      expect(code).toBe(5)
      expect(stdout).toMatch(
        /^acme: has a job that starts by itself at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC: until then, its service asked/,
      )
      expect(await queues.sync.getJobCountByTypes('delayed')).toBe(1)
    })
  })
}

test('an embedded queue cannot be waited for, and what to do instead is said', async () => {
  const sandbox = await aSandbox({ customers: [1] })
  const place = aWorkplace(organizationsOf(sandbox), { queue: 'embedded' })
  const { code, stderr } = await run(place, ['acme', '--wait'])

  expect(code).toBe(2)
  expect(stderr).toContain('customer-mirror sync')
})

test('--timeout without --wait requests nothing, and says so', async () => {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })), { queue: 'redis://127.0.0.1:1' })

  expect(await run(place, ['acme', '--timeout', '1s'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Nothing was requested'),
  })
})

type Options = Pick<Parameters<typeof runCli>[1], 'signal' | 'onStderr'>

function run(place: { config: string; folder: string }, args: readonly string[], options: Options = {}) {
  return runCli(['run', ...args, '--config', place.config], { cwd: place.folder, ...options })
}

/** The worker reports a run before its job waits. */
async function untilDelayed(queues: Queues): Promise<void> {
  await eventually(
    () => queues.sync.getJobCountByTypes('delayed'),
    (jobs) => jobs === 1,
  )
}
