import { describe, expect, test } from 'vitest'
import { run, untilDelayed } from '../support/commands.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

// Other processes cannot add to an embedded queue.
if (!isEmbedded) {
  describe('run', () => {
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
      const asked = await run(place, ['acme'])

      expect(asked).toMatchObject({ code: 0, stdout: 'acme: has a job that waited; it starts now\n' })
      expect((await worker.ran('acme')).report).toMatchObject({ inserted: 20 })
    })
  })
}
