import { describeError } from '../src/errors.ts'
import type { Logger } from '../src/log.ts'
import type { Engine } from './engine.ts'
import { codeAndReason } from './queue-refusal.ts'
import { reconcileSchedules } from './schedule.ts'
import { delayAnew, watchWallClock, type Clocks } from './set-back.ts'

/** Reads the configuration again and makes the schedules equal to it. Never throws: what fails is told, and tried again later. */
export type Reconcile = (occasion: { atStart: boolean }) => Promise<void>

export function createReconciler(
  { config, queues, mirror }: Pick<Engine, 'config' | 'queues' | 'mirror'>,
  clocks: Clocks,
  log: Pick<Logger, 'info' | 'warn'>,
): Reconcile {
  let underWay: Promise<void> | undefined
  const wallClock = watchWallClock(clocks)

  async function reconcile(atStart: boolean): Promise<void> {
    try {
      await config.reload()
    } catch (error) {
      log.warn({ error: describeError(error) }, 'configuration has mistakes, the one before stays')
    }
    try {
      if (wallClock.wasSetBack()) log.warn({ jobs: await delayAnew(queues.sync) }, 'clock set back, waits begin anew')
      const { organizations } = config.current
      const plan = await reconcileSchedules({ queues, mirror, organizations, nowMs: clocks.now(), atStart })
      const upserted = plan.upsert.map(({ organization }) => organization)
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
