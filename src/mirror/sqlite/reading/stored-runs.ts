import type { Freshness, StoredRun, UncountedFreshness } from '../../../store.ts'
import type { Report } from '../../../report.ts'
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
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'

/** One run; undefined if there is no run with that number. */
export function findRun(db: Connection, id: number): StoredRun | undefined {
  const row = statement<[number], RunColumns>(db, 'SELECT * FROM runs WHERE id = ?').get(id)
  return row === undefined ? undefined : storedRunOf(row)
}

/** The latest runs, newest first. */
export function listRuns(
  db: Connection,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Report[] {
  const newest = 'ORDER BY id DESC LIMIT @limit'
  const rows =
    organization === undefined
      ? statement<[Record<string, unknown>], RunColumns>(db, `SELECT * FROM runs ${newest}`).all({ limit })
      : statement<[Record<string, unknown>], RunColumns>(
          db,
          `SELECT * FROM runs WHERE organization = @organization ${newest}`,
        ).all({ organization, limit })
  return rows.map(storedReportOf)
}

/** The `freshness` view, by organization, with the reasons why an organization is not proven. */
export function listFreshness(db: Connection): Freshness[] {
  return statement<[], FreshnessColumns & CountColumns>(db, COUNTED).all().map(freshnessOf)
}

/** The same without the counts of customers: SQLite does not compute the columns of a view that are not read. */
export function listUncountedFreshness(db: Connection): UncountedFreshness[] {
  return statement<[], FreshnessColumns>(db, UNCOUNTED).all().map(uncountedFreshnessOf)
}

const freshnessWith = (columns: readonly string[]) => `
  SELECT ${freshnessColumns(columns)}
  FROM freshness
  LEFT JOIN runs AS ended ON ended.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND status <> 'running' AND ${IS_FULL})
  LEFT JOIN runs AS full_run ON full_run.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND ${IS_FULL})
  LEFT JOIN runs AS quick ON quick.id = freshness.last_run_id AND quick.${IS_QUICK}
  LEFT JOIN runs AS whole ON whole.id = (
    SELECT MAX(id) FROM runs WHERE organization = freshness.organization AND ${READ_TO_END})
  ORDER BY freshness.organization`

const UNCOUNTED = freshnessWith(UNCOUNTED_COLUMNS)
const COUNTED = freshnessWith(COUNTED_COLUMNS)
