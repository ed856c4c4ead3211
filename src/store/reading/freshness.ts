import type { Proof, RunStatus } from '../../report.ts'
import type { Freshness, LastQuickRun, UncountedFreshness } from '../../store.ts'
import { firstRunOf } from '../schema/run-conditions.ts'
import { fromSqlTime, timeIn } from '../port/sql-time.ts'

/** A row of the `freshness` view without its counts of customers, with columns of the runs that it rests on. */
export type FreshnessColumns = {
  organization: string
  read_as_of: string | null
  proven_as_of: string | null
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
  quick_held: number | null
}

/** The counts of customers, which take longer the more customers there are. */
export type CountColumns = { active: number; missing: number; removed: number }

/** The columns of the view to ask for. */
export const COUNTED_COLUMNS = ['*']
export const UNCOUNTED_COLUMNS = [
  ...['organization', 'read_as_of', 'proven_as_of', 'retired_at'],
  ...['proof', 'last_run_id', 'last_status', 'held', 'open_rejects'],
]

/**
 * What to select of the view and of four runs: `full_run` is the last full one, `ended` the last full one that has ended, `whole` the last
 * that read the list to its end, and `quick` the last of all, where that is a quick one.
 */
export function freshnessColumns(columns: readonly string[]): string {
  return `${columns.map((column) => `freshness.${column}`).join(', ')},
    ${firstRunOf('freshness.organization')} AS first_run_at, full_run.status AS last_full_status, ended.error_code AS ended_error,
    CASE WHEN ended.proof <> 'proven' THEN ended.reasons END AS ended_reasons,
    CASE WHEN whole.proof <> 'proven' THEN whole.reasons END AS read_reasons,
    quick.id AS quick_id, quick.started_at AS quick_started_at, quick.status AS quick_status, quick.reasons AS quick_reasons,
    quick.error_code AS quick_error, quick.requests AS quick_requests, quick.trusted_pages AS quick_trusted,
    quick.inserted AS quick_inserted, quick.updated AS quick_updated, quick.missing AS quick_missing,
    quick.held AS quick_held`
}

/** How current an organization is, with its counts. */
export function freshnessOf(row: FreshnessColumns & CountColumns): Freshness {
  return { ...uncountedFreshnessOf(row), active: row.active, missing: row.missing, removed: row.removed }
}

/** How current an organization is, with the reasons why it is not proven. */
export function uncountedFreshnessOf(row: FreshnessColumns): UncountedFreshness {
  return {
    organization: row.organization,
    readAsOfMs: timeIn(row.read_as_of),
    provenAsOfMs: timeIn(row.proven_as_of),
    proof: row.proof ?? undefined,
    lastRunId: row.last_run_id,
    lastStatus: row.last_status,
    lastFullStatus: row.last_full_status ?? undefined,
    firstRunAtMs: timeIn(row.first_run_at),
    lastQuick: lastQuickOf(row),
    held: row.held,
    openRejects: row.open_rejects,
    why: whyUnproven(row),
    retiredAtMs: timeIn(row.retired_at),
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
    held: row.quick_held ?? 0,
  }
}

function whyUnproven({ ended_error, ended_reasons, read_reasons }: FreshnessColumns): string[] {
  const lastRun = ended_error === null ? reasonsIn(ended_reasons) : [ended_error]
  return [...new Set([...lastRun, ...reasonsIn(read_reasons)])]
}

function reasonsIn(column: string | null): string[] {
  return column === null ? [] : JSON.parse(column)
}
