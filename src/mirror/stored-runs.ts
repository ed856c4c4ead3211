import type { StoredRun } from '../store.ts'
import type { Proof, RecordCounts, Report, RunStatus, Trigger } from '../report.ts'
import type { Connection } from './database.ts'
import { fromSqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** One run; undefined when there is none of that number. */
export function findRun(db: Connection, id: number): StoredRun | undefined {
  const row = statement<[number], RunColumns>(db, 'SELECT * FROM runs WHERE id = ?').get(id)
  if (row === undefined) return undefined
  const certificate: unknown = row.certificate === null ? undefined : JSON.parse(row.certificate)
  return { ...fromColumns(row), certificate }
}

/** The latest runs, newest first. */
export function listRuns(
  db: Connection,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Report[] {
  return statement<[Record<string, unknown>], RunColumns>(
    db,
    `SELECT * FROM runs WHERE organization = coalesce(@organization, organization) ORDER BY id DESC LIMIT @limit`,
  )
    .all({ organization: organization ?? null, limit })
    .map(fromColumns)
}

type RunColumns = RecordCounts & {
  id: number
  organization: string
  trigger: Trigger
  started_at: string
  finished_at: string | null
  /** NULL where the run never ended by itself, or is older than this column. */
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
  data_as_of: string
  resumed_from: number | null
  read_before: number
  certificate: string | null
  error_code: string | null
  error: string | null
}

function fromColumns(row: RunColumns): Report {
  const { id, started_at, finished_at, duration_ms, waited_ms, data_as_of, error_code, error, ...same } = row
  const { resumed_from, read_before, certificate: _certificate, ...report } = same
  const startedAtMs = fromSqlTime(started_at)
  return {
    ...report,
    runId: id,
    reasons: JSON.parse(row.reasons),
    warnings: JSON.parse(row.warnings),
    // Both were measured by a wall clock once, which may have been set back meanwhile.
    waitedMs: Math.max(0, waited_ms),
    resumedFrom: resumed_from ?? undefined,
    readBefore: read_before,
    startedAtMs,
    finishedAtMs: finished_at === null ? undefined : fromSqlTime(finished_at),
    durationMs: duration_ms ?? (finished_at === null ? 0 : Math.max(0, fromSqlTime(finished_at) - startedAtMs)),
    dataAsOfMs: fromSqlTime(data_as_of),
    error: error_code === null ? undefined : { code: error_code, message: error ?? '' },
  }
}
