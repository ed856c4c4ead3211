import type { RunStatus } from '../../report.ts'
import type { LastRun } from '../../store.ts'
import { fromSqlTime, timeIn } from '../sql/sql-time.ts'

export type LastRunColumns = {
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
export function lastRunOf(row: LastRunColumns): LastRun {
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
