import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sleep } from '../../src/machine/timers.ts'

/** A clock that advances only by sleeping, at once: waits cost nothing, and are the same on any machine. */
export type SkippingClock = {
  /** Unix milliseconds. */
  now: () => number
  sleep: Sleep
  skip: (ms: number) => void
}

export function skippingClock(startMs: number): SkippingClock {
  let nowMs = startMs
  return {
    now: () => nowMs,
    async sleep(ms, signal) {
      // Those who sleep at the same time sleep through the same time.
      const untilMs = nowMs + ms
      await nextTurn()
      signal.throwIfAborted()
      nowMs = Math.max(nowMs, untilMs)
    },
    skip: (ms) => {
      nowMs += ms
    },
  }
}
