import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { EventEmitter } from 'node:events'
import { createQueueWorker } from '../../../jobs/queue/queue-worker.ts'
import { renewAfterSetBack } from '../../../jobs/queue/renewals.ts'
import { aJobsWorkplace, someQueues } from '../../support/jobs-workplace.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('a worker renews the locks of its jobs also after the clock was set back by a month', async () => {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const work = async () => {
    begun.resolve()
    await ended.promise
    return {}
  }
  const clocks = { timings: { leftJobsMs: 10, lockMs: 60_000 }, now: () => Date.now() }
  const worker = createQueueWorker(backend, 'sync', work, { ...clocks, lockRenewTime: 40, lockDuration: 60_000 })
  worker.on('error', () => {})
  const renewing = vi.spyOn(Object.assign(worker), 'extendJobLocks')
  onTestFinished(async () => {
    vi.restoreAllMocks()
    ended.resolve()
    await worker.close()
  })
  await queues.requestSync('acme', 'manual')
  void worker.run()
  await begun.promise

  const { now } = Date
  vi.spyOn(Date, 'now').mockImplementation(() => now() - 30 * 86_400_000)
  renewing.mockClear()

  // As many turns of a timer as are enough a hundred times over, however slow the machine is.
  for (let turn = 0; turn < 200 && renewing.mock.calls.length < 2; turn += 1) await sleep(20)
  expect(renewing.mock.calls.length).toBeGreaterThanOrEqual(2)
})

test('a worker that is closed is looked at no more', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const worker = new EventEmitter()
  renewAfterSetBack(worker, () => 0, 1000)
  expect(vi.getTimerCount()).toBe(1)

  worker.emit('closed')
  expect(vi.getTimerCount()).toBe(0)
})
