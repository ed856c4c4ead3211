import type { Reserved, SharedLimits, Wanted } from '../../jobs/limits/shared-limits.ts'

/** Rate limits as a database keeps them, in this process, by the clock of that database. */
export function sharedLimitsHere(nowMs: () => number): SharedLimits & { asked: Wanted[]; isAway: boolean } {
  const limits = new Map<string, { nextMs: number; pausedUntilMs: number; workers: Set<string> }>()
  const asked: Wanted[] = []
  return {
    asked,
    isAway: false,
    async reserve(name, wanted): Promise<Reserved> {
      if (this.isAway) throw new Error('the database is away')
      asked.push(wanted)
      const at = nowMs()
      const before = limits.get(name) ?? { nextMs: at, pausedUntilMs: 0, workers: new Set() }
      const pausedUntilMs = Math.max(before.pausedUntilMs, wanted.pauseMs > 0 ? at + wanted.pauseMs : 0)
      const turns = pausedUntilMs > at ? 0 : wanted.turns
      const firstMs = Math.max(at, before.nextMs)
      const workers = before.workers.add(wanted.worker)
      limits.set(name, { nextMs: firstMs + turns * wanted.spacingMs, pausedUntilMs, workers })
      return { turns, firstInMs: firstMs - at, pausedMs: Math.max(0, pausedUntilMs - at), workers: workers.size }
    },
  }
}
