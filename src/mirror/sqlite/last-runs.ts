import type { LastRun } from '../../store.ts'
import { lastRunOf, type LastRunColumns } from '../rows/last-run.ts'
import { firstRunOf, IS_FULL, READ_TO_END } from '../run-conditions.ts'
import type { Connection } from './database.ts'
import { statement } from './statement.ts'

/** The latest run of every organization that was ever mirrored. Quick runs are none of them. */
export function listLastRuns(db: Connection): LastRun[] {
  return statement<[], LastRunColumns>(db, LAST_RUNS).all().map(lastRunOf)
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
