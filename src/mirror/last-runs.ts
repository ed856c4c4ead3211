import type { LastRun } from '../store.ts'
import type { RunStatus } from '../report.ts'
import type { Connection } from './database.ts'
import { fromSqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** The latest run of every organization that was ever mirrored. */
export function listLastRuns(db: Connection): LastRun[] {
  return statement<[], LastRunColumns>(db, LAST_RUNS)
    .all()
    .map(({ organization, started_at, status, error_code, complete_as_of }) => ({
      organization,
      startedAtMs: fromSqlTime(started_at),
      status,
      errorCode: error_code ?? undefined,
      completeAsOfMs: complete_as_of === null ? undefined : fromSqlTime(complete_as_of),
    }))
}

/** Whether a run read the list to its end: the condition of `freshness.read_as_of`. */
export const READ_TO_END = `status = 'complete' AND reasons NOT LIKE '%"page-limit"%' AND reasons NOT LIKE '%"cached-answer"%'`

const LAST_RUNS = `
  SELECT last.organization, last.started_at, last.status, last.error_code,
    (SELECT data_as_of FROM runs WHERE id = (
      SELECT MAX(id) FROM runs
      WHERE runs.organization = last.organization AND ${READ_TO_END})) AS complete_as_of
  FROM runs AS last
  WHERE last.id IN (SELECT MAX(id) FROM runs GROUP BY organization)
  ORDER BY last.organization`

type LastRunColumns = {
  organization: string
  started_at: string
  status: RunStatus
  error_code: string | null
  complete_as_of: string | null
}
