/** How long a reason is not reported again. */
const QUIET_MS = 60_000
/** Reasons kept at most. */
const MOST_REASONS = 100

export type SparseLog = {
  /** Reports a reason, unless it was reported less than a minute ago. */
  report(reason: string): void
  /** How many were left out since their reason was reported last; forgets them, so that each is reported anew. */
  forget(): number
}

/** Reports each reason once, then once a minute for as long as it goes on, with how often it was left out in between. */
export function createSparseLog(
  write: (fields: { reason: string; leftOut?: number }) => void,
  monotonicMs: () => number,
): SparseLog {
  const reported = new Map<string, { atMs: number; leftOut: number }>()
  return {
    report: (reason) => {
      const key = withoutJob(reason)
      const last = reported.get(key)
      if (last !== undefined && monotonicMs() - last.atMs < QUIET_MS) {
        last.leftOut += 1
        return
      }
      if (reported.size >= MOST_REASONS) reported.clear()
      reported.set(key, { atMs: monotonicMs(), leftOut: 0 })
      write(last === undefined || last.leftOut === 0 ? { reason } : { reason, leftOut: last.leftOut })
    },
    forget: () => {
      const leftOut = [...reported.values()].reduce((sum, each) => sum + each.leftOut, 0)
      reported.clear()
      return leftOut
    },
  }
}

/** The same reason for another job is the same reason. */
function withoutJob(reason: string): string {
  return reason.replace(/\bjob \S+/i, 'job')
}
