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
import type { Connection } from '../opening/database.ts'
import { findLease, type Clocks } from '../run/lease.ts'
import { statement } from '../statement.ts'

/** The latest full runs of these organizations, by organization and then oldest first, at most `limit` of each. */
export function listLatestRuns(
  db: Connection,
  { organizations, limit }: { organizations: readonly string[]; limit: number },
): LatestRun[] {
  return statement<[string, number], LatestColumns>(db, LATEST)
    .all(JSON.stringify(organizations), limit)
    .map(latestRunOf)
}

const LATEST = `
  SELECT ${LATEST_COLUMNS}
  FROM json_each(?) AS wanted
  JOIN runs ON runs.id IN (
    SELECT id FROM runs AS own WHERE own.organization = wanted.value AND ${IS_FULL} ORDER BY id DESC LIMIT ?)
  ORDER BY runs.organization, runs.id`

/** The runs that hold the lease of their organization, by organization. */
export function listUnderway(db: Connection, clocks: Clocks): LeasedRun[] {
  return statement<[], UnderwayColumns>(db, `${UNDERWAY} ORDER BY runs.organization`)
    .all()
    .filter(({ organization, id }) => findLease(db, organization, clocks)?.run_id === id)
    .map(leasedRunOf)
}
