import type { LatestRun, LeasedRun, Proof, RecordCounts, Report, RunStatus, Trigger } from '../../report.ts'
import type { Freshness, LastRun, StoredRun, UncountedFreshness } from '../../store.ts'
import { given, isIn } from '../port/fragments.ts'
import { sql, text } from '../port/sql.ts'
import type { Session } from '../port/store.ts'
import {
  type CountColumns,
  COUNTED_COLUMNS,
  freshnessColumns,
  type FreshnessColumns,
  freshnessOf,
  UNCOUNTED_COLUMNS,
  uncountedFreshnessOf,
} from './freshness.ts'
import { type Clocks, heldLeases } from '../runs/lease.ts'
import { firstRunOf, IS_FULL, IS_QUICK, READ_TO_END } from '../schema/run-conditions.ts'
import { fromSqlTime, timeIn } from '../port/sql-time.ts'

/** One run; undefined if there is no run with that number. */
export async function findRun(session: Session, id: number): Promise<StoredRun | undefined> {
  const row = await session.first<RunColumns>(sql`SELECT * FROM runs WHERE id = ${id}`)
  return row && storedRunOf(row)
}

/** The latest runs, newest first. */
export async function listRuns(
  session: Session,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Promise<Report[]> {
  const ofOne = organization === undefined ? sql`` : sql`WHERE organization = ${organization}`
  const rows = await session.all<RunColumns>(sql`SELECT * FROM runs ${ofOne} ORDER BY id DESC LIMIT ${limit}`)
  return rows.map(storedReportOf)
}

/** The latest run of an organization that fulfils a condition: one seek in an index, however many runs there are. */
const last = (organization: string, condition: string) =>
  text(`(SELECT id FROM runs WHERE runs.organization = ${organization} AND ${condition} ORDER BY id DESC LIMIT 1)`)

const freshnessWith = (columns: readonly string[]) => sql`
  SELECT ${text(freshnessColumns(columns))} FROM freshness
  LEFT JOIN runs AS ended ON ended.id = ${last('freshness.organization', `status <> 'running' AND ${IS_FULL}`)}
  LEFT JOIN runs AS full_run ON full_run.id = ${last('freshness.organization', IS_FULL)}
  LEFT JOIN runs AS quick ON quick.id = freshness.last_run_id AND quick.${text(IS_QUICK)}
  LEFT JOIN runs AS whole ON whole.id = ${last('freshness.organization', READ_TO_END)}
  ORDER BY freshness.organization`

/** The `freshness` view, by organization, with the reasons why an organization is not proven. */
export async function listFreshness(session: Session): Promise<Freshness[]> {
  return (await session.all<FreshnessColumns & CountColumns>(freshnessWith(COUNTED_COLUMNS))).map(freshnessOf)
}

/** The same without the counts of customers: columns of a view that are not read are not computed. */
export async function listUncountedFreshness(session: Session): Promise<UncountedFreshness[]> {
  return (await session.all<FreshnessColumns>(freshnessWith(UNCOUNTED_COLUMNS))).map(uncountedFreshnessOf)
}

/** The names of the organizations with full runs: one seek in an index for each, since there may be thousands of runs of each. */
const EVERY_ONE = text(`
  SELECT min(organization) FROM runs WHERE ${IS_FULL}
  UNION ALL
  SELECT (SELECT min(organization) FROM runs WHERE ${IS_FULL} AND runs.organization > known.organization)
  FROM known WHERE known.organization IS NOT NULL`)

/** The latest run of one organization, or of every one that was ever mirrored. Quick runs are none of them. */
export async function listLastRuns(session: Session, filter?: { organization: string }): Promise<LastRun[]> {
  const known = filter === undefined ? EVERY_ONE : sql`SELECT CAST(${filter.organization} AS text)`
  const rows = await session.all<LastRunColumns>(sql`
    WITH RECURSIVE known (organization) AS (${known})
    SELECT last.organization, last.started_at, last.finished_at, last.status, last.error_code,
      ${text(firstRunOf('last.organization'))} AS first_run_at,
      (SELECT read_as_of FROM runs WHERE id = ${last('last.organization', READ_TO_END)}) AS complete_as_of,
      (SELECT error_code FROM runs WHERE id = ${last('last.organization', `status <> 'running' AND id > last.id`)}) AS quick_error
    FROM known JOIN runs AS last ON last.id = ${last('known.organization', IS_FULL)}
    ORDER BY last.organization`)
  return rows.map(lastRunOf)
}

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
export async function listLatestRuns(
  session: Session,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): Promise<LatestRun[]> {
  const wanted = given(
    [...new Set(organizations)].map((name) => ({ name })),
    { name: 'text' },
    'wanted',
  )
  const own = text(`FROM runs AS own WHERE own.organization = wanted.name AND ${IS_FULL}`)
  const rows = await session.all<LatestColumns>(sql`
    SELECT ${text(LATEST_COLUMNS)} FROM ${wanted}
    JOIN runs ON runs.organization = wanted.name AND ${text(IS_FULL)}
      AND runs.id >= coalesce((SELECT id ${own} ORDER BY id DESC LIMIT 1 OFFSET ${limit - 1}), 0)
    ORDER BY runs.organization, runs.id`)
  return rows.map(latestRunOf)
}

/** The runs that hold the lease of their organization, by organization. */
export async function listUnderway(session: Session, clocks: Clocks): Promise<LeasedRun[]> {
  const held = (await heldLeases(session, clocks)).map(({ run_id }) => run_id)
  const rows = await session.all<UnderwayColumns>(
    sql`${text(UNDERWAY)} AND ${isIn('runs.id', held)} ORDER BY runs.organization`,
  )
  return rows.map(leasedRunOf)
}

/** The columns of `runs` in a list of latest runs. */
const LATEST_COLUMNS =
  'runs.id, runs.organization, started_at, finished_at, duration_ms, status, proof, error_code, inserted, updated, removed, ' +
  'returned, held, throttled, waited_ms'

type LatestColumns = Pick<
  LatestRun,
  'organization' | 'inserted' | 'updated' | 'removed' | 'returned' | 'held' | 'throttled'
> & {
  id: number
  started_at: string
  finished_at: string | null
  duration_ms: number | null
  status: RunStatus
  proof: Proof
  error_code: string | null
  waited_ms: number
}

function latestRunOf(row: LatestColumns): LatestRun {
  const { id, started_at, finished_at: _finished, duration_ms: _duration, error_code, waited_ms, ...same } = row
  return {
    ...same,
    runId: id,
    startedAtMs: fromSqlTime(started_at),
    durationMs: durationOf(row),
    waitedMs: Math.max(0, waited_ms),
    errorCode: error_code ?? undefined,
  }
}

/** The runs with a lease that are not ended yet. */
const UNDERWAY = `
  SELECT runs.id, runs.organization, started_at, trusted_pages, read_before, received, duplicates, holder,
    (SELECT max(total) FROM windows WHERE run_id = runs.id) AS total
  FROM leases JOIN runs ON runs.id = leases.run_id
  WHERE status = 'running'`

/** A run that has a lease. */
type UnderwayColumns = {
  id: number
  organization: string
  started_at: string
  trusted_pages: number | null
  read_before: number
  received: number
  duplicates: number
  total: number | null
  holder: string
}

function leasedRunOf(row: UnderwayColumns): LeasedRun {
  return {
    organization: row.organization,
    runId: row.id,
    startedAtMs: fromSqlTime(row.started_at),
    isQuick: row.trusted_pages !== null,
    readBefore: row.read_before,
    read: row.received - row.duplicates,
    total: row.total ?? undefined,
    holder: row.holder,
  }
}

type LastRunColumns = {
  organization: string
  started_at: string
  finished_at: string | null
  status: RunStatus
  error_code: string | null
  complete_as_of: string | null
  first_run_at: string | null
  quick_error: string | null
}

/** How the latest run of an organization ended. */
function lastRunOf(row: LastRunColumns): LastRun {
  const { organization, started_at, finished_at, status, error_code, complete_as_of, quick_error, first_run_at } = row
  return {
    organization,
    startedAtMs: fromSqlTime(started_at),
    endedAtMs: timeIn(finished_at),
    status,
    errorCode: error_code ?? undefined,
    completeAsOfMs: timeIn(complete_as_of),
    firstRunAtMs: timeIn(first_run_at),
    quickErrorCode: quick_error ?? undefined,
  }
}

/** A row of `runs`. */
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
  read_as_of: string
  resumed_from: number | null
  read_before: number
  certificate: string | null
  error_code: string | null
  error: string | null
  trusted_pages: number | null
}

/** A run with its certificate. */
function storedRunOf(row: RunColumns): StoredRun {
  const certificate: unknown = row.certificate === null ? undefined : JSON.parse(row.certificate)
  return { ...storedReportOf(row), certificate }
}

/** The report of a run, from its row. */
function storedReportOf(row: RunColumns): Report {
  const { id, started_at, finished_at, duration_ms: _duration, waited_ms, read_as_of, error_code, error, ...same } = row
  const { resumed_from, read_before, trusted_pages, certificate: _certificate, ...report } = same
  return {
    ...report,
    runId: id,
    reasons: JSON.parse(row.reasons),
    warnings: JSON.parse(row.warnings),
    // Older versions measured it by the wall clock, which may have been set back meanwhile.
    waitedMs: Math.max(0, waited_ms),
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
function durationOf({
  started_at,
  finished_at,
  duration_ms,
}: Pick<RunColumns, 'started_at' | 'finished_at' | 'duration_ms'>): number {
  const byWallClock = finished_at === null ? 0 : fromSqlTime(finished_at) - fromSqlTime(started_at)
  return Math.max(0, duration_ms ?? byWallClock)
}
