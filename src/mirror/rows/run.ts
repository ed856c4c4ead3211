import type { Proof, RecordCounts, Report, RunStatus, Trigger } from '../../report.ts'
import type { StoredRun } from '../../store.ts'
import { fromSqlTime, timeIn } from '../sql/sql-time.ts'

/** A row of `runs`. */
export type RunColumns = RecordCounts & {
  id: number
  organization: string
  trigger: Trigger
  started_at: string
  finished_at: string | null
  /** NULL if the run never ended by itself. */
  duration_ms: number | null
  status: RunStatus
  proof: Proof
  reasons: string
  requests: number
  pages: number
  missing: number
  removed: number
  held: number
  throttled: number
  waited_ms: number
  warnings: string
  read_as_of: string
  resumed_from: number | null
  read_before: number
  certificate: string | null
  error_code: string | null
  error: string | null
  trusted_pages: number | null
}

/** A run with its certificate. */
export function storedRunOf(row: RunColumns): StoredRun {
  const certificate: unknown = row.certificate === null ? undefined : JSON.parse(row.certificate)
  return { ...storedReportOf(row), certificate }
}

/** The report of a run, from its row. */
export function storedReportOf(row: RunColumns): Report {
  const { id, started_at, finished_at, duration_ms: _duration, waited_ms, read_as_of, error_code, error, ...same } = row
  const { resumed_from, read_before, trusted_pages, certificate: _certificate, ...report } = same
  return {
    ...report,
    runId: id,
    reasons: JSON.parse(row.reasons),
    warnings: JSON.parse(row.warnings),
    waitedMs: waited_ms,
    resumedFrom: resumed_from ?? undefined,
    readBefore: read_before,
    startedAtMs: fromSqlTime(started_at),
    finishedAtMs: timeIn(finished_at),
    durationMs: durationOf(row),
    readAsOfMs: fromSqlTime(read_as_of),
    trustedPages: trusted_pages ?? undefined,
    error: error_code === null ? undefined : { code: error_code, message: error ?? '' },
  }
}

/** How long a run took; by the wall clock, which may have been set back meanwhile, where it did not measure that. */
export function durationOf({
  started_at,
  finished_at,
  duration_ms,
}: Pick<RunColumns, 'started_at' | 'finished_at' | 'duration_ms'>): number {
  const byWallClock = finished_at === null ? 0 : fromSqlTime(finished_at) - fromSqlTime(started_at)
  return Math.max(0, duration_ms ?? byWallClock)
}
