/** How long a repeated reason is omitted. */
const QUIET_MS = 60_000
/** The most reasons to remember. */
const MOST_REASONS = 100

export type SparseLog = {
  /** Writes a reason, unless that was written less than a minute ago; returns whether it did. */
  report(reason: string, facts?: object): boolean
  /** Returns the number of omitted reports, and forgets all reasons, so that each is written again. */
  forget(): number
}

/** Writes each reason once, then at most once a minute, with the number of omitted reports. */
export function createSparseLog(write: (fields: object) => void, monotonicMs: () => number): SparseLog {
  const reported = new Map<string, { atMs: number; leftOut: number }>()
  return {
    report: (reason, facts = {}) => {
      // Reasons of several jobs are equal.
      const key = reason.replace(/\bjob \S+/i, 'job')
      const last = reported.get(key)
      if (last !== undefined && monotonicMs() - last.atMs < QUIET_MS) {
        last.leftOut += 1
        return false
      }
      if (reported.size >= MOST_REASONS) reported.clear()
      reported.set(key, { atMs: monotonicMs(), leftOut: 0 })
      write({ reason, ...facts, ...(last !== undefined && last.leftOut > 0 && { leftOut: last.leftOut }) })
      return true
    },
    forget: () => {
      const leftOut = [...reported.values()].reduce((sum, each) => sum + each.leftOut, 0)
      reported.clear()
      return leftOut
    },
  }
}
