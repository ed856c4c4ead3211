/** How long a reason that was told is not told again. */
const QUIET_MS = 60_000
/** Reasons kept at most. */
const MOST_REASONS = 100

export type SparseLog = {
  /** Tells a reason, unless it was told less than a minute ago. */
  tell(reason: string): void
  /** How many were left out since their reason was told last; forgets them, so that each is told anew. */
  forget(): number
}

/** Tells each reason once, then once a minute for as long as it goes on, with how often it was left out in between. */
export function createSparseLog(
  write: (fields: { reason: string; leftOut?: number }) => void,
  monotonicMs: () => number,
): SparseLog {
  const told = new Map<string, { atMs: number; leftOut: number }>()
  return {
    tell: (reason) => {
      const key = withoutJob(reason)
      const last = told.get(key)
      if (last !== undefined && monotonicMs() - last.atMs < QUIET_MS) {
        last.leftOut += 1
        return
      }
      if (told.size >= MOST_REASONS) told.clear()
      told.set(key, { atMs: monotonicMs(), leftOut: 0 })
      write(last === undefined || last.leftOut === 0 ? { reason } : { reason, leftOut: last.leftOut })
    },
    forget: () => {
      const leftOut = [...told.values()].reduce((sum, each) => sum + each.leftOut, 0)
      told.clear()
      return leftOut
    },
  }
}

/** The same reason for another job is the same reason. */
function withoutJob(reason: string): string {
  return reason.replace(/\bjob \S+/i, 'job')
}
