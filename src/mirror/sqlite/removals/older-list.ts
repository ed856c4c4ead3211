import type { Run } from '../../../run.ts'
import { newestAbsent, unjudgedRows, type Dated, type Newest } from '../../rules/older-list-rule.ts'
import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'

/** The rows of those absent customers whose absence counts for nothing, since the list may be older than the last one read. */
export function findUnjudged(
  db: Connection,
  run: Run,
  absent: readonly Dated[],
  serviceMs: number | undefined,
): Set<number> {
  const newest = newestAbsent(absent, run, serviceMs)
  return newest === undefined ? new Set() : unjudgedRows(absent, newest, findNewestListed(db, run, absent, newest))
}

/**
 * The creation time of the newest received customer, rejects included, or of any received customer newer than `than`. Customers
 * created after `last` are ignored.
 */
function findNewestListed(db: Connection, run: Run, absent: readonly Dated[], times: Newest): string | undefined {
  const newer = findNewerAtEnds(db, run, times)
  if (newer !== undefined) return newer
  // Every customer that is not absent was received. Reading most of a table is faster without an index.
  const lastRow = statement<[], number | null>(db, 'SELECT MAX(row_id) FROM customers').pluck().get() ?? 0
  const listed = Math.max(run.seen.size, run.list.columns.rowIds.length)
  const from = listed * 10 > lastRow ? 'customers NOT INDEXED' : 'customers'
  const newest = statement<[Record<string, unknown>], string | null>(
    db,
    `SELECT MAX(created_at_utc) FROM ${from} WHERE organization = @organization AND removed_at IS NULL
       AND created_at_utc <= @last AND row_id NOT IN (SELECT value FROM json_each(@absent))`,
  ).pluck()
  const rowIds = JSON.stringify(absent.map(({ rowId }) => rowId))
  return newest.get({ organization: run.organization, last: times.last, absent: rowIds }) ?? undefined
}

/** The newest customers are mostly the first or the last rows. */
const LOOKED_AT = 100

/** The creation time of a newer received customer among the first and last rows of the table; undefined if there is none. */
function findNewerAtEnds(db: Connection, { seen }: Run, { than, last }: Newest): string | undefined {
  const createdAt = statement<[number], string | null>(
    db,
    'SELECT created_at_utc FROM customers WHERE row_id = ? AND removed_at IS NULL',
  ).pluck()
  for (const rowId of seen.ends(LOOKED_AT)) {
    const created = createdAt.get(rowId)
    if (typeof created === 'string' && created > than && created <= last) return created
  }
  return undefined
}
