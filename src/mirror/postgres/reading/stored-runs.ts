import type { Report } from '../../../report.ts'
import type { Freshness, StoredRun, UncountedFreshness } from '../../../store.ts'
import {
  COUNTED_COLUMNS,
  freshnessColumns,
  freshnessOf,
  UNCOUNTED_COLUMNS,
  uncountedFreshnessOf,
  type CountColumns,
  type FreshnessColumns,
} from '../../rows/freshness.ts'
import { storedReportOf, storedRunOf, type RunColumns } from '../../rows/run.ts'
import { IS_FULL, IS_QUICK, READ_TO_END } from '../../sql/run-conditions.ts'
import type { Session } from '../session.ts'

/** One run; undefined if there is no run with that number. */
export async function findRun(session: Session, id: number): Promise<StoredRun | undefined> {
  const row = await session.first<RunColumns>('SELECT * FROM runs WHERE id = $1', id)
  return row === undefined ? undefined : storedRunOf(row)
}

/** The latest runs, newest first. */
export async function listRuns(
  session: Session,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Promise<Report[]> {
  const newest = 'ORDER BY id DESC LIMIT $1'
  const rows =
    organization === undefined
      ? await session.all<RunColumns>(`SELECT * FROM runs ${newest}`, limit)
      : await session.all<RunColumns>(`SELECT * FROM runs WHERE organization = $2 ${newest}`, limit, organization)
  return rows.map(storedReportOf)
}

/** The `freshness` view, by organization, with the reasons why an organization is not proven. */
export async function listFreshness(session: Session): Promise<Freshness[]> {
  return (await session.all<FreshnessColumns & CountColumns>(freshnessWith(COUNTED_COLUMNS))).map(freshnessOf)
}

/** The same without the counts of customers: PostgreSQL does not compute the columns of a view that are not read. */
export async function listUncountedFreshness(session: Session): Promise<UncountedFreshness[]> {
  return (await session.all<FreshnessColumns>(freshnessWith(UNCOUNTED_COLUMNS))).map(uncountedFreshnessOf)
}

/** Each run is found by one seek in an index, however many runs there are. */
const freshnessWith = (columns: readonly string[]) => `
  SELECT ${freshnessColumns(columns)}
  FROM freshness
  LEFT JOIN LATERAL (${LAST_RUN_OF} AND status <> 'running' AND ${IS_FULL} ${NEWEST}) AS ended ON true
  LEFT JOIN LATERAL (${LAST_RUN_OF} AND ${IS_FULL} ${NEWEST}) AS full_run ON true
  LEFT JOIN runs AS quick ON quick.id = freshness.last_run_id AND quick.${IS_QUICK}
  LEFT JOIN LATERAL (${LAST_RUN_OF} AND ${READ_TO_END} ${NEWEST}) AS whole ON true
  ORDER BY freshness.organization`

const LAST_RUN_OF = 'SELECT * FROM runs WHERE organization = freshness.organization'
const NEWEST = 'ORDER BY id DESC LIMIT 1'
