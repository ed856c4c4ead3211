import { isFarAhead } from '../../src/time/clock-tolerance.ts'
import { putOffOf } from '../pauses/put-off.ts'
import type { Queues } from '../queue/queues.ts'
import { oneAtATime } from '../one-at-a-time.ts'

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
 * step of an hour, a wait of a minute would take an hour, without another job for that organization. At the start, this is done for
 * jobs with a date far in the future: the clock was set back while no worker looked. While the queue does not answer, this is
 * retried at every look.
 */
export function keepWaits(sync: Queues['sync'], keeping: KeepingWaits): { stop: () => void } {
  const wallClock = watchWallClock(keeping)
  let due: 'all' | 'dated-ahead' | undefined = 'dated-ahead'

  const look = oneAtATime(async () => {
    if (wallClock.wasSetBack()) due = 'all'
    if (due === undefined) return
    const isAll = due === 'all'
    try {
      const isMeant = (job: SyncJob) => isAll || isDatedAhead(job, keeping.now())
      const jobs = await delayAnew((await sync.getDelayed()).filter(isMeant))
      due = undefined
      if (isAll || jobs > 0) keeping.onSetBack?.(jobs)
    } catch {
      // The queue is lost or refuses; other parts report that.
    }
  })

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

type SyncJob = Awaited<ReturnType<Queues['sync']['getDelayed']>>[number]

/** Whether a clock that was ahead said when a job was last started, or made: then it says when its wait ends, too. */
function isDatedAhead({ processedOn, timestamp }: SyncJob, nowMs: number): boolean {
  return isFarAhead(processedOn ?? timestamp, nowMs)
}

async function delayAnew(delayed: readonly SyncJob[]): Promise<number> {
  // What waits for a moment of the wall clock is started, and put off again until then. A job that was taken meanwhile no longer waits.
  const anew = delayed.map((job) => (putOffOf(job) === undefined ? job.changeDelay(job.delay) : job.promote()))
  await Promise.all(anew.map((changed) => changed.catch(() => {})))
  return delayed.length
}
