import { isGone } from '../../../machine/process-name.ts'
import type { LatestRun, LeasedRun } from '../../../report.ts'
import {
  LATEST_COLUMNS,
  latestRunOf,
  leasedRunOf,
  UNDERWAY,
  type LatestColumns,
  type UnderwayColumns,
} from '../../rows/latest-run.ts'
import { IS_FULL } from '../../sql/run-conditions.ts'
import { LASTS } from '../run/lease.ts'
import type { Session } from '../session.ts'

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
export async function listLatestRuns(
  session: Session,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): Promise<LatestRun[]> {
  return (await session.all<LatestColumns>(LATEST, organizations, limit)).map(latestRunOf)
}

const LATEST = `
  SELECT ${LATEST_COLUMNS}
  FROM (SELECT DISTINCT unnest($1::text[]) COLLATE "C" AS organization) AS wanted
  CROSS JOIN LATERAL (
    SELECT * FROM runs WHERE runs.organization = wanted.organization AND ${IS_FULL} ORDER BY id DESC LIMIT $2) AS runs
  ORDER BY runs.organization, runs.id`

/** The runs that hold the lease of their organization by the clock of the server, by organization. */
export async function listUnderway(session: Session): Promise<LeasedRun[]> {
  const leased = await session.all<UnderwayColumns>(`${UNDERWAY} AND ${LASTS} ORDER BY runs.organization`)
  return leased.filter(({ holder }) => isGone(holder) !== true).map(leasedRunOf)
}
