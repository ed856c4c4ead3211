import type { SharedLimits } from '../../jobs/queue/port.ts'

/** Rate limits as a database keeps them, in this process, by the clock of that database. */
export function sharedLimitsHere(nowMs: () => number): SharedLimits & { asked: number; isAway: boolean } {
  const limits = new Map<string, { nextMs: number; pausedUntilMs: number }>()
  return {
    asked: 0,
    isAway: false,
    async take(name, { spacingMs, pauseMs }) {
      if (this.isAway) throw new Error('the database is away')
      this.asked += 1
      const at = nowMs()
      const before = limits.get(name) ?? { nextMs: at, pausedUntilMs: 0 }
      const pausedUntilMs = Math.max(before.pausedUntilMs, pauseMs > 0 ? at + pauseMs : 0)
      const turnMs = Math.max(at, before.nextMs)
      limits.set(name, { nextMs: turnMs + (pausedUntilMs > at ? 0 : spacingMs), pausedUntilMs })
      return { turnInMs: turnMs - at, pausedMs: Math.max(0, pausedUntilMs - at) }
    },
  }
}
