import { LockManager } from 'bullmq'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renewAfterSetBack } from '../../../jobs/queue/renewals.ts'
import { eventually } from '../../support/eventually.ts'

test('a worker renews the locks of its jobs also after the clock was set back by a month', async () => {
  let renewed = 0
  const asked = {
    name: 'sync',
    trace: (_kind: unknown, _operation: string, _destination: string, work: () => unknown) => work(),
    extendJobLocks: async () => ((renewed += 1), []),
    emit: () => true,
  }
  const lockManager: LockManager = Reflect.construct(LockManager, [asked, { lockRenewTime: 40, lockDuration: 80 }])
  onTestFinished(() => lockManager.close())
  let close = () => {}
  const worker = { lockManager, on: (_event: 'closed', listener: () => void) => (close = listener) }
  onTestFinished(() => close())
  lockManager.trackJob('acme', 'token', Date.now())
  lockManager.start()
  const nowMs = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => nowMs() - 30 * 86_400_000)
  onTestFinished(() => void vi.restoreAllMocks())

  renewAfterSetBack(worker, 10)

  await eventually(
    () => renewed,
    (times) => times >= 2,
  )
  expect(renewed).toBeGreaterThanOrEqual(2)
})
