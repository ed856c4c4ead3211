import { putOffOf } from '../pauses/put-off.ts'
import type { Queues } from '../queue/queues.ts'

export type KeepingWaits = {
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
  /** How often to look at the clock. */
  lookMs: number
  /** Called with the number of jobs whose wait restarts. */
  onSetBack?: ((jobs: number) => void) | undefined
}

/** Smaller steps of the clock are ignored. */
const NOTABLE_STEP_MS = 60_000

/**
 * Restarts the wait of every delayed job after the wall clock was set back. The queue stores the end of a wait by that clock: after a
 * step of an hour, a wait of a minute would take an hour, without another job for that organization. While the queue does not
 * answer, this is retried at every look.
 */
export function keepWaits(sync: Queues['sync'], keeping: KeepingWaits): { stop: () => void } {
  const wallClock = watchWallClock(keeping)
  let [isDue, isUnderWay] = [false, false]

  async function look(): Promise<void> {
    isDue ||= wallClock.wasSetBack()
    if (!isDue || isUnderWay) return
    isUnderWay = true
    try {
      const jobs = await delayAnew(sync)
      isDue = false
      keeping.onSetBack?.(jobs)
    } catch {
      // The queue is lost or refuses; other parts report that.
    } finally {
      isUnderWay = false
    }
  }

  const timer = setInterval(() => void look(), keeping.lookMs).unref()
  return { stop: () => clearInterval(timer) }
}

/** Returns at each look whether the wall clock was set back since the look before. */
export function watchWallClock({ now, monotonicMs }: Pick<KeepingWaits, 'now' | 'monotonicMs'>): {
  wasSetBack(): boolean
} {
  let aheadMs = now() - monotonicMs()
  return {
    wasSetBack() {
      const before = aheadMs
      aheadMs = now() - monotonicMs()
      return aheadMs < before - NOTABLE_STEP_MS
    },
  }
}

async function delayAnew(sync: Queues['sync']): Promise<number> {
  const delayed = await sync.getDelayed()
  // What waits for a moment of the wall clock is started, and put off again until then. A job that was taken meanwhile no longer waits.
  const anew = delayed.map((job) => (putOffOf(job) === undefined ? job.changeDelay(job.delay) : job.promote()))
  await Promise.all(anew.map((changed) => changed.catch(() => {})))
  return delayed.length
}
