import type { Queues } from './queues.ts'

export type Clocks = {
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
}

/** A smaller step makes no wait notably longer. */
const NOTABLE_STEP_MS = 60_000

/** Returns what tells, at each look, whether the wall clock was set back since the look before. */
export function watchWallClock({ now, monotonicMs }: Clocks): { wasSetBack(): boolean } {
  let aheadMs = now() - monotonicMs()
  return {
    wasSetBack() {
      const before = aheadMs
      aheadMs = now() - monotonicMs()
      return aheadMs < before - NOTABLE_STEP_MS
    },
  }
}

/**
 * Begins the wait of every delayed job anew. The queue keeps the moment at which a wait ends by the wall clock: once that is set
 * back by an hour, a job told to wait a minute would wait an hour, and no other job of its organization is made meanwhile.
 * Returns how many there were.
 */
export async function delayAnew(sync: Queues['sync']): Promise<number> {
  const delayed = await sync.getDelayed()
  // One that was taken meanwhile waits no more.
  await Promise.all(delayed.map((job) => job.changeDelay(job.delay).catch(() => {})))
  return delayed.length
}
