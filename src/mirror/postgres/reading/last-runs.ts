import type { LastRun } from '../../../store.ts'
import { lastRunOf, type LastRunColumns } from '../../rows/last-run.ts'
import { firstRunOf, IS_FULL, READ_TO_END } from '../../sql/run-conditions.ts'
import { organizationsIn } from './organizations-in.ts'
import type { Session } from '../session.ts'

/** The latest run of one organization, or of every one that was ever mirrored. Quick runs are none of them. */
export async function listLastRuns(session: Session, filter?: { organization: string }): Promise<LastRun[]> {
  const rows =
    filter === undefined
      ? await session.all<LastRunColumns>(lastRunsOf(organizationsIn('runs')))
      : await session.all<LastRunColumns>(lastRunsOf(THE_ONE), filter.organization)
  return rows.map(lastRunOf)
}

const THE_ONE = 'organizations (organization) AS (SELECT $1::text)'

const lastRunsOf = (organizations: string) => `
  WITH RECURSIVE ${organizations}
  SELECT last.organization, last.started_at, last.finished_at, last.status, last.error_code,
    ${firstRunOf('last.organization')} AS first_run_at,
    (SELECT read_as_of FROM runs
      WHERE runs.organization = last.organization AND ${READ_TO_END} ORDER BY id DESC LIMIT 1) AS complete_as_of,
    (SELECT error_code FROM runs
      WHERE runs.organization = last.organization AND status <> 'running' AND id > last.id ORDER BY id DESC LIMIT 1) AS quick_error
  FROM organizations
  CROSS JOIN LATERAL (
    SELECT * FROM runs WHERE runs.organization = organizations.organization AND ${IS_FULL} ORDER BY id DESC LIMIT 1) AS last
  ORDER BY last.organization`
