import { describe, expect, test } from 'vitest'
import { cancel } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

// Other processes cannot cancel what is in an embedded queue.
if (!isEmbedded) {
  describe('cancel', () => {
    test('a job that waits for the service is ended by its worker, which records it and sends no request', async () => {
      const sandbox = await aSandbox({
        customers: [500],
        rateLimits: [{ organization: 'acme', requests: 2, windowMs: 90_000 }],
      })
      const place = aJobsWorkplace(organizationsOf(sandbox, { scan: 'chain' }))
      const { queues } = await someQueues(place.queue, place.mirror)
      const worker = startWorker(place)
      await worker.ran('acme', 'wait')
      await eventually(
        () => queues.sync.getJobCountByTypes('delayed'),
        (jobs) => jobs === 1,
      )

      expect(await cancel(place, 'acme')).toMatchObject({ code: 0, stdout: expect.stringContaining('Its run ended') })
      expect(rowsOf(place.mirror, 'SELECT status, error_code FROM runs ORDER BY id')).toEqual([
        { status: 'waiting', error_code: 'rate-limited' },
        { status: 'failed', error_code: 'cancelled' },
      ])
      expect(valueOf(place.mirror, 'SELECT requests FROM runs ORDER BY id DESC LIMIT 1')).toBe(0)
      expect(await queues.sync.getJobCountByTypes('waiting', 'delayed', 'active')).toBe(0)
    })
  })
}
