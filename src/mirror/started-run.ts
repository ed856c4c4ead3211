import { noRecords } from '../report.ts'
import { RowSet } from '../row-set.ts'
import type { Run, Start } from '../run.ts'
import { startStopwatch } from './stopwatch.ts'

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
    changedSince: isQuick ? new RowSet() : recorded.changedSince,
    written: new RowSet(),
    records: noRecords(),
    warnings: {},
    pages: 0,
  }
}

/** How many customers a run has read that continues another one. */
export function countSeen({ seen, rejectedIds, suppressed }: Pick<Run, 'seen' | 'rejectedIds' | 'suppressed'>): number {
  return seen.size + rejectedIds.size + suppressed.size
}
