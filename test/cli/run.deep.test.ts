import { describe, expect, test } from 'vitest'
import { run, untilDelayed } from '../support/commands.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

// Other processes cannot add to an embedded queue.
if (!isEmbedded) {
  describe('run', () => {
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

      expect(await run(place, ['acme', '--wait'], { onStderr: cancelOnceAsked })).toMatchObject({
        ...{ code: 3, stdout: expect.stringMatching(/^acme +failed: cancelled /m) },
      })
    })

    test('--now starts a job that waits for its next attempt', async () => {
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
  })
}
