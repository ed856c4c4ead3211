import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sleep } from '../../src/machine/timers.ts'

/** A clock that advances only by sleeping, at once: waits of minutes cost nothing. */
export function virtualTime(startMs = 1_700_000_000_000): {
  now: () => number
  monotonicMs: () => number
  sleep: Sleep
  slept: number[]
} {
  let nowMs = startMs
  const slept: number[] = []
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    slept,
    async sleep(ms, signal) {
      const untilMs = nowMs + ms
      slept.push(ms)
      await nextTurn()
      signal.throwIfAborted()
      nowMs = Math.max(nowMs, untilMs)
    },
  }
}
