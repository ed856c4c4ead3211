import type { RunStatus } from '../../report.ts'
import type { LastRun } from '../../store.ts'
import type { Connection } from './database.ts'
import { fromSqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'
import { firstRunOf, IS_FULL, READ_TO_END } from './stored-runs.ts'

/** The latest run of every organization that was ever mirrored. Quick runs are none of them. */
export function listLastRuns(db: Connection): LastRun[] {
  return statement<[], LastRunColumns>(db, LAST_RUNS)
    .all()
    .map(
      ({ organization, started_at, finished_at, status, error_code, complete_as_of, quick_error, first_run_at }) => ({
        organization,
        startedAtMs: fromSqlTime(started_at),
        endedAtMs: finished_at === null ? undefined : fromSqlTime(finished_at),
        status,
        errorCode: error_code ?? undefined,
        completeAsOfMs: complete_as_of === null ? undefined : fromSqlTime(complete_as_of),
        firstRunAtMs: first_run_at === null ? undefined : fromSqlTime(first_run_at),
        quickErrorCode: quick_error ?? undefined,
      }),
    )
}

const LAST_RUNS = `
  SELECT last.organization, last.started_at, last.finished_at, last.status, last.error_code,
    ${firstRunOf('last.organization')} AS first_run_at,
    (SELECT data_as_of FROM runs WHERE id = (
      SELECT MAX(id) FROM runs
      WHERE runs.organization = last.organization AND ${READ_TO_END})) AS complete_as_of,
    (SELECT error_code FROM runs WHERE id = (
      SELECT MAX(id) FROM runs WHERE runs.organization = last.organization AND status <> 'running' AND id > last.id)) AS quick_error
  FROM (SELECT DISTINCT organization FROM runs WHERE ${IS_FULL}) AS known
  JOIN runs AS last ON last.id = (
    SELECT MAX(id) FROM runs WHERE runs.organization = known.organization AND ${IS_FULL})
  ORDER BY last.organization`

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
