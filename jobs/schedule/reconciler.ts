import { describeError } from '../../src/errors.ts'
import type { Logger } from '../../src/log.ts'
import type { Engine } from '../worker-parts.ts'
import { codeAndReason } from '../queue/queue-refusal.ts'
import { reconcileSchedules } from './reconcile.ts'
import { nameOf } from './schedule-plan.ts'

/** Reads the configuration again and makes the schedules equal to it. Never throws: failures are logged, and retried later. */
export type Reconcile = (occasion: { atStart: boolean }) => Promise<void>

export function createReconciler(
  {
    config,
    queues,
    mirror,
    syncWorker,
    backend: { values },
  }: Pick<Engine, 'config' | 'queues' | 'mirror' | 'syncWorker' | 'backend'>,
  now: () => number,
  log: Pick<Logger, 'info' | 'warn'>,
): Reconcile {
  let underWay: Promise<void> | undefined

  async function reconcile(atStart: boolean): Promise<void> {
    try {
      await config.reload()
      syncWorker.concurrency = config.current.jobs.concurrency
    } catch (error) {
      log.warn({ error: describeError(error) }, 'configuration has mistakes, the one before stays')
    }
    try {
      const { organizations } = config.current
      const plan = await reconcileSchedules({ queues, mirror, values, organizations, nowMs: now(), atStart })
      const upserted = plan.upsert.map(nameOf)
      if (upserted.length + plan.remove.length + plan.catchUp.length > 0)
        log.info({ upserted, removed: plan.remove, catchUp: plan.catchUp }, 'schedules reconciled')
    } catch (error) {
      log.warn({ reason: codeAndReason(error) }, 'schedules could not be compared')
    }
  }

  return ({ atStart }) =>
    (underWay ??= reconcile(atStart).finally(() => {
      underWay = undefined
    }))
}
