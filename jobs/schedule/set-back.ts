import type { Queues } from '../queue/queues.ts'

export type KeepingWaits = {
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
  /** How often to look at the clock. */
  lookMs: number
  /** Called with the number of jobs that begin their wait anew. */
  onSetBack?: ((jobs: number) => void) | undefined
}

/** A smaller step makes no wait notably longer. */
const NOTABLE_STEP_MS = 60_000

/**
 * Begins the wait of every delayed job anew once the wall clock was set back. The queue keeps the moment at which a wait ends by
 * that clock: set back by an hour, a job told to wait a minute would wait an hour, and no other job of its organization is made
 * meanwhile. While the queue does not answer, it is tried at every look.
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
      // Lost or refusing, which others report.
    } finally {
      isUnderWay = false
    }
  }

  const timer = setInterval(() => void look(), keeping.lookMs).unref()
  return { stop: () => clearInterval(timer) }
}

/** At each look, whether the wall clock was set back since the look before. */
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
  // One that was taken meanwhile waits no more.
  await Promise.all(delayed.map((job) => job.changeDelay(job.delay).catch(() => {})))
  return delayed.length
}
