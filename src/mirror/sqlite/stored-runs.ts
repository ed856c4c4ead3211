import type { Freshness, LastQuickRun, StoredRun, UncountedFreshness } from '../../store.ts'
import type { Proof, RecordCounts, Report, RunStatus, Trigger } from '../../report.ts'
import type { Connection } from './database.ts'
import { fromSqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'

/** One run; undefined if there is no run with that number. */
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
  /** NULL if the run never ended by itself, or is older than this column. */
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
  trusted_pages: number | null
}

function fromColumns(row: RunColumns): Report {
  const { id, started_at, finished_at, duration_ms, waited_ms, data_as_of, error_code, error, ...same } = row
  const { resumed_from, read_before, trusted_pages, certificate: _certificate, ...report } = same
  const startedAtMs = fromSqlTime(started_at)
  return {
    ...report,
    runId: id,
    reasons: JSON.parse(row.reasons),
    warnings: JSON.parse(row.warnings),
    // Older versions measured both by the wall clock, which may have been set back meanwhile.
    waitedMs: Math.max(0, waited_ms),
    resumedFrom: resumed_from ?? undefined,
    readBefore: read_before,
    startedAtMs,
    finishedAtMs: finished_at === null ? undefined : fromSqlTime(finished_at),
    durationMs: duration_ms ?? (finished_at === null ? 0 : Math.max(0, fromSqlTime(finished_at) - startedAtMs)),
    dataAsOfMs: fromSqlTime(data_as_of),
    trustedPages: trusted_pages ?? undefined,
    error: error_code === null ? undefined : { code: error_code, message: error ?? '' },
  }
}

/** Whether a run read the list to its end: the condition of `freshness.read_as_of`. */
export const READ_TO_END = `status = 'complete' AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'`

/** Whether a run is no quick run: only those read the whole list, and are due every night. */
export const IS_FULL = 'trusted_pages IS NULL'
export const IS_QUICK = 'trusted_pages IS NOT NULL'

/** The start of the very first run of an organization. */
export const firstRunOf = (organization: string) =>
  `(SELECT started_at FROM runs WHERE organization = ${organization} ORDER BY id LIMIT 1)`

/** The `freshness` view, by organization, with the reasons why an organization is not proven. */
export function listFreshness(db: Connection): Freshness[] {
  return statement<[], FreshnessColumns & CountColumns>(db, COUNTED)
    .all()
    .map((row) => ({ ...fromFreshness(row), active: row.active, missing: row.missing, removed: row.removed }))
}

/** The same without the counts of customers: SQLite does not compute the columns of a view that are not read. */
export function listUncountedFreshness(db: Connection): UncountedFreshness[] {
  return statement<[], FreshnessColumns>(db, UNCOUNTED).all().map(fromFreshness)
}

function fromFreshness(row: FreshnessColumns): UncountedFreshness {
  return {
    organization: row.organization,
    readAsOfMs: timeOf(row.read_as_of),
    provenAsOfMs: timeOf(row.proven_as_of),
    dataAsOfMs: timeOf(row.data_as_of),
    proof: row.proof ?? undefined,
    lastRunId: row.last_run_id,
    lastStatus: row.last_status,
    lastFullStatus: row.last_full_status ?? undefined,
    firstRunAtMs: timeOf(row.first_run_at),
    lastQuick: lastQuickOf(row),
    held: row.held,
    openRejects: row.open_rejects,
    why: whyUnproven(row),
    retiredAtMs: timeOf(row.retired_at),
  }
}

function lastQuickOf(row: FreshnessColumns): LastQuickRun | undefined {
  if (row.quick_id === null) return undefined
  return {
    runId: row.quick_id,
    startedAtMs: fromSqlTime(row.quick_started_at ?? ''),
    status: row.quick_status ?? 'partial',
    reasons: reasonsIn(row.quick_reasons),
    errorCode: row.quick_error ?? undefined,
    requests: row.quick_requests ?? 0,
    trustedPages: row.quick_trusted ?? 0,
    inserted: row.quick_inserted ?? 0,
    updated: row.quick_updated ?? 0,
    missing: row.quick_missing ?? 0,
  }
}

function timeOf(column: string | null): number | undefined {
  return column === null ? undefined : fromSqlTime(column)
}

function whyUnproven({ ended_error, ended_reasons, read_reasons }: FreshnessColumns): string[] {
  const lastRun = ended_error === null ? reasonsIn(ended_reasons) : [ended_error]
  return [...new Set([...lastRun, ...reasonsIn(read_reasons)])]
}

function reasonsIn(column: string | null): string[] {
  return column === null ? [] : JSON.parse(column)
}

const freshnessWith = (columns: readonly string[]) => `
  SELECT ${columns.map((column) => `freshness.${column}`).join(', ')},
    ${firstRunOf('freshness.organization')} AS first_run_at, full_run.status AS last_full_status, ended.error_code AS ended_error,
    iif(ended.proof = 'proven', NULL, ended.reasons) AS ended_reasons,
    iif(whole.proof = 'proven', NULL, whole.reasons) AS read_reasons,
    quick.id AS quick_id, quick.started_at AS quick_started_at, quick.status AS quick_status, quick.reasons AS quick_reasons,
    quick.error_code AS quick_error, quick.requests AS quick_requests, quick.trusted_pages AS quick_trusted,
    quick.inserted AS quick_inserted, quick.updated AS quick_updated, quick.missing AS quick_missing
  FROM freshness
  LEFT JOIN runs AS ended ON ended.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND status <> 'running' AND ${IS_FULL})
  LEFT JOIN runs AS full_run ON full_run.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND ${IS_FULL})
  LEFT JOIN runs AS quick ON quick.id = (
    SELECT MAX(id) FROM (SELECT id, trusted_pages FROM runs WHERE organization = freshness.organization ORDER BY id DESC LIMIT 100)
    WHERE ${IS_QUICK})
  LEFT JOIN runs AS whole ON whole.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND ${READ_TO_END})
  ORDER BY freshness.organization`

const DATES = ['organization', 'data_as_of', 'read_as_of', 'proven_as_of', 'retired_at']
const LAST = ['proof', 'last_run_id', 'last_status', 'held', 'open_rejects']
const UNCOUNTED = freshnessWith([...DATES, ...LAST])
const COUNTED = freshnessWith(['*'])

type FreshnessColumns = {
  organization: string
  read_as_of: string | null
  proven_as_of: string | null
  data_as_of: string | null
  proof: Proof | null
  last_run_id: number
  last_status: RunStatus
  first_run_at: string | null
  last_full_status: RunStatus | null
  held: number
  open_rejects: number
  ended_error: string | null
  ended_reasons: string | null
  read_reasons: string | null
  retired_at: string | null
  quick_id: number | null
  quick_started_at: string | null
  quick_status: RunStatus | null
  quick_reasons: string | null
  quick_error: string | null
  quick_requests: number | null
  quick_trusted: number | null
  quick_inserted: number | null
  quick_updated: number | null
  quick_missing: number | null
}

type CountColumns = { active: number; missing: number; removed: number }
