import type { Logger } from '../../src/log.ts'
import type { Engine } from '../worker-parts.ts'
import { codeAndReason } from '../queue/queue-refusal.ts'
import { reconcileSchedules } from './reconcile.ts'
import { nameOf, type SchedulePlan } from './schedule-plan.ts'

/**
 * Reads the configuration again and makes the schedules equal to it. Never throws: failures are logged, and retried later. A worker
 * that has just started says when it did, in Unix milliseconds, and one whose clock was set back says that.
 */
export type Reconcile = (occasion?: { startedAtMs?: number; wasSetBack?: true }) => Promise<void>

type Reconciling = {
  /** Unix milliseconds. */
  now: () => number
  log: Pick<Logger, 'info' | 'warn'>
  /** Aborted when the worker stops. */
  signal: AbortSignal
}

export function createReconciler(
  {
    followed,
    queues,
    mirror,
    syncWorker,
    backend: { values },
  }: Pick<Engine, 'followed' | 'queues' | 'mirror' | 'syncWorker' | 'backend'>,
  { now, log, signal }: Reconciling,
): Reconcile {
  let underWay: { ended: Promise<void>; isComparing: boolean } | undefined
  let next: Promise<void> | undefined
  /** How often the clock was set back, and for how many of those the schedules were made equal since. */
  const setBacks = { seen: 0, answered: 0 }

  async function reconcile(startedAtMs: number | undefined, startComparing: () => void): Promise<void> {
    const { accepted, live } = followed
    await followed.refresh()
    syncWorker.concurrency = live.current.jobs.concurrency
    try {
      await followed.look()
      startComparing()
      // Missed runs of another configuration are left to the workers that have it.
      if (!accepted.isMine) return
      const { organizations } = live.current
      const mayWrite = mayStillWrite(followed)
      const { seen, answered } = setBacks
      const times = { nowMs: now(), startedAtMs, wasSetBack: seen > answered }
      logDone(await reconcileSchedules({ queues, mirror, values, organizations, ...times, mayWrite }), log)
      setBacks.answered = seen
    } catch (error) {
      // The stop of the worker closes the queue under a comparison.
      if (!signal.aborted) log.warn({ reason: codeAndReason(error) }, 'schedules could not be compared')
    }
  }

  function start(startedAtMs?: number): Promise<void> {
    const begun = { ended: Promise.resolve(), isComparing: false }
    underWay = begun
    begun.ended = reconcile(startedAtMs, () => {
      begun.isComparing = true
    }).finally(() => {
      underWay = undefined
    })
    return begun.ended
  }

  return ({ startedAtMs, wasSetBack = false } = {}) => {
    if (wasSetBack) setBacks.seen += 1
    if (underWay === undefined) return start(startedAtMs)
    if (!underWay.isComparing) return underWay.ended
    // It compares what was read before: what has changed since needs another one.
    return (next ??= underWay.ended.then(() => {
      next = undefined
      return underWay?.ended ?? start()
    }))
  }
}

/** Whether this worker may write schedules, and its configuration is still the one of now. */
function mayStillWrite(followed: Engine['followed']): () => Promise<boolean> {
  const { live, accepted } = followed
  const { reading } = live
  return async () => {
    await followed.look()
    return accepted.mayWrite && live.reading === reading
  }
}

function logDone({ upsert, remove, catchUp }: SchedulePlan, log: Pick<Logger, 'info'>): void {
  const upserted = upsert.map(nameOf)
  if (upserted.length + remove.length + catchUp.length > 0)
    log.info({ upserted, removed: remove, catchUp }, 'schedules reconciled')
}
