import type { RunStatus } from '../../report.ts'
import type { LastRun } from '../../store.ts'
import { fromSqlTime } from '../sql-time.ts'

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
    endedAtMs: finished_at === null ? undefined : fromSqlTime(finished_at),
    status,
    errorCode: error_code ?? undefined,
    completeAsOfMs: complete_as_of === null ? undefined : fromSqlTime(complete_as_of),
    firstRunAtMs: first_run_at === null ? undefined : fromSqlTime(first_run_at),
    quickErrorCode: quick_error ?? undefined,
  }
}
