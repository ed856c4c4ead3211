import type { Proof, RunStatus } from '../report.ts'
import type { Connection } from './database.ts'
import { fromSqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** How current an organization's rows are. */
export type Freshness = {
  organization: string
  /** Unix milliseconds; undefined while no run has read it to the end. */
  dataAsOfMs: number | undefined
  proof: Proof | undefined
  lastRunId: number
  lastStatus: RunStatus
  active: number
  missing: number
  removed: number
  openRejects: number
}

/** The `freshness` view, by organization. */
export function listFreshness(db: Connection): Freshness[] {
  return statement<[], FreshnessColumns>(db, 'SELECT * FROM freshness ORDER BY organization')
    .all()
    .map(({ data_as_of, proof, last_run_id, last_status, open_rejects, organization, active, missing, removed }) => ({
      organization,
      dataAsOfMs: data_as_of === null ? undefined : fromSqlTime(data_as_of),
      proof: proof ?? undefined,
      lastRunId: last_run_id,
      lastStatus: last_status,
      active,
      missing,
      removed,
      openRejects: open_rejects,
    }))
}

type FreshnessColumns = {
  organization: string
  data_as_of: string | null
  proof: Proof | null
  last_run_id: number
  last_status: RunStatus
  active: number
  missing: number
  removed: number
  open_rejects: number
}
