/** How long a repeated reason is omitted. */
export const QUIET_MS = 60_000
/** The most reasons to remember. */
const MOST_REASONS = 100

export type SparseLog = {
  /** Reports a reason, unless it was reported less than a minute ago. */
  report(reason: string): void
  /** Returns the number of omitted reports, and forgets all reasons, so that each is reported again. */
  forget(): number
}

/** Reports each reason once, then at most once a minute, with the number of omitted reports. */
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

/** The reason without its job, so that reasons of several jobs are equal. */
function withoutJob(reason: string): string {
  return reason.replace(/\bjob \S+/i, 'job')
}
