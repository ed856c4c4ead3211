import { noRecords } from '../report.ts'
import { RowSet } from '../list/row-set.ts'
import type { Run, Start } from '../run.ts'

/** What a mirror knows of a run that begins, and has recorded of it. */
type Recorded = Omit<
  Run,
  | 'organization'
  | 'trigger'
  | 'startedAtMs'
  | 'monotonicMs'
  | 'tookMs'
  | 'isQuick'
  | 'written'
  | 'receivedSince'
  | 'records'
  | 'warnings'
  | 'pages'
>

/** A run that has saved nothing yet. A quick run compares every row that quick runs found changed. */
export function startedRun(
  { organization, trigger, nowMs, monotonicMs, isQuick = false }: Start,
  recorded: Recorded,
): Run {
  return {
    ...recorded,
    ...{ organization, trigger, startedAtMs: nowMs, monotonicMs, isQuick },
    tookMs: startStopwatch(nowMs, monotonicMs),
    receivedSince: recorded.resumedFrom === undefined ? recorded.seen : new RowSet(),
    changedSince: isQuick ? new RowSet() : recorded.changedSince,
    written: new RowSet(),
    records: noRecords(),
    warnings: {},
    pages: 0,
  }
}

/** Milliseconds since the start, never negative: by the monotonic clock, or else by the wall clock, which may be set back meanwhile. */
function startStopwatch(startedAtMs: number, monotonicMs: (() => number) | undefined): Run['tookMs'] {
  if (monotonicMs === undefined) return (nowMs) => Math.max(0, nowMs - startedAtMs)
  const startMs = monotonicMs()
  return () => monotonicMs() - startMs
}

/** How many customers a run has read that continues another one. */
export function countSeen({ seen, rejectedIds, suppressed }: Pick<Run, 'seen' | 'rejectedIds' | 'suppressed'>): number {
  return seen.size + rejectedIds.size + suppressed.size
}
