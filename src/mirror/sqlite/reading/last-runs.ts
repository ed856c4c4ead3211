import type { LastRun } from '../../../store.ts'
import { lastRunOf, type LastRunColumns } from '../../rows/last-run.ts'
import { firstRunOf, IS_FULL, READ_TO_END } from '../../sql/run-conditions.ts'
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'

/** The latest run of one organization, or of every one that was ever mirrored. Quick runs are none of them. */
export function listLastRuns(db: Connection, filter?: { organization: string }): LastRun[] {
  const rows =
    filter === undefined
      ? statement<[], LastRunColumns>(db, lastRunsOf(EVERY_ONE)).all()
      : statement<[typeof filter], LastRunColumns>(db, lastRunsOf('SELECT @organization')).all(filter)
  return rows.map(lastRunOf)
}

/** The organizations are found by one seek in an index each, since there may be thousands of runs of each. */
const EVERY_ONE = `
    SELECT MIN(organization) FROM runs WHERE ${IS_FULL}
    UNION ALL
    SELECT (SELECT MIN(organization) FROM runs WHERE ${IS_FULL} AND runs.organization > known.organization)
    FROM known WHERE known.organization IS NOT NULL`

const lastRunsOf = (organizations: string) => `
  WITH RECURSIVE known (organization) AS (${organizations})
  SELECT last.organization, last.started_at, last.finished_at, last.status, last.error_code,
    ${firstRunOf('last.organization')} AS first_run_at,
    (SELECT read_as_of FROM runs WHERE id = (
      SELECT MAX(id) FROM runs
      WHERE runs.organization = last.organization AND ${READ_TO_END})) AS complete_as_of,
    (SELECT error_code FROM runs WHERE id = (
      SELECT MAX(id) FROM runs WHERE runs.organization = last.organization AND status <> 'running' AND id > last.id)) AS quick_error
  FROM known
  JOIN runs AS last ON last.id = (
    SELECT MAX(id) FROM runs WHERE runs.organization = known.organization AND ${IS_FULL})
  ORDER BY last.organization`
