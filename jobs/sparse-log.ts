/** How long a repeated reason is omitted. */
export const QUIET_MS = 60_000
/** The most reasons to remember. */
const MOST_REASONS = 100

export type SparseLog<Facts = void> = {
  /** Reports a reason with its facts, unless it was reported less than a minute ago. */
  report(reason: string, facts: Facts): void
  /** Returns the number of omitted reports, and forgets all reasons, so that each is reported again. */
  forget(): number
}

/** Reports each reason once, then at most once a minute, with the number of omitted reports. */
export function createSparseLog<Facts = void>(
  write: (fields: { reason: string; leftOut?: number }, facts: Facts) => void,
  monotonicMs: () => number,
): SparseLog<Facts> {
  const reported = new Map<string, { atMs: number; leftOut: number }>()
  return {
    report: (reason, facts) => {
      const key = withoutJob(reason)
      const last = reported.get(key)
      if (last !== undefined && monotonicMs() - last.atMs < QUIET_MS) {
        last.leftOut += 1
        return
      }
      if (reported.size >= MOST_REASONS) reported.clear()
      reported.set(key, { atMs: monotonicMs(), leftOut: 0 })
      write(last === undefined || last.leftOut === 0 ? { reason } : { reason, leftOut: last.leftOut }, facts)
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
