import { describe, expect, test } from 'vitest'
import { cancel, run, untilDelayed } from '../support/commands.ts'
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

    test('does not start a job whose service said when to come back, and says when that is', async () => {
      const rateLimits = [{ organization: 'acme', requests: 2, windowMs: 90_000 }]
      const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [500], rateLimits })))
      const worker = startWorker(place)
      await worker.ran('acme', 'wait')
      const { queues } = await someQueues(place.queue, place.mirror)
      await untilDelayed(queues)
      const { code, stdout } = await run(place, ['acme'])

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
  ['worker', {}, 2, /queue: redis:\/\/127\.0\.0\.1:6379/],
  ['worker --embedded', { schedule: { ...FAR_AWAY, cron: '0 2 31 2 *' } }, 2, /schedule\.cron.* names no moment/],
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
