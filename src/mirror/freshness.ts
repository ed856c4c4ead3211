import type { Freshness } from '../store.ts'
import type { Proof, RunStatus } from '../report.ts'
import type { Connection } from './database.ts'
import { READ_TO_END } from './last-runs.ts'
import { fromSqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** The `freshness` view, by organization, and what stands between each organization and a proof. */
export function listFreshness(db: Connection): Freshness[] {
  return statement<[], FreshnessColumns>(db, FRESHNESS)
    .all()
    .map((row) => ({
      organization: row.organization,
      readAsOfMs: timeOf(row.read_as_of),
      provenAsOfMs: timeOf(row.proven_as_of),
      dataAsOfMs: timeOf(row.data_as_of),
      proof: row.proof ?? undefined,
      lastRunId: row.last_run_id,
      lastStatus: row.last_status,
      active: row.active,
      missing: row.missing,
      removed: row.removed,
      held: row.held,
      openRejects: row.open_rejects,
      why: whyUnproven(row),
    }))
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

const FRESHNESS = `
  SELECT freshness.*, ended.error_code AS ended_error,
    iif(ended.proof = 'proven', NULL, ended.reasons) AS ended_reasons,
    iif(whole.proof = 'proven', NULL, whole.reasons) AS read_reasons
  FROM freshness
  LEFT JOIN runs AS ended ON ended.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND status <> 'running')
  LEFT JOIN runs AS whole ON whole.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND ${READ_TO_END})
  ORDER BY freshness.organization`

type FreshnessColumns = {
  organization: string
  read_as_of: string | null
  proven_as_of: string | null
  data_as_of: string | null
  proof: Proof | null
  last_run_id: number
  last_status: RunStatus
  active: number
  missing: number
  removed: number
  held: number
  open_rejects: number
  ended_error: string | null
  ended_reasons: string | null
  read_reasons: string | null
}
