import type { Run } from '../../run.ts'
import type { Connection } from './database.ts'
import { sqlTime } from '../sql-time.ts'
import { statement } from './statement.ts'

/** An absent customer, with the time of creation as `YYYY-MM-DD HH:MM:SS`. */
type Dated = { rowId: number; createdAtUtc: string | null }

/** A creation time further in the future than any clock is wrong, and is ignored here. */
const AHEAD_MS = 24 * 3_600_000

/**
 * The rows of those absent customers whose absence counts for nothing, because no customer is listed that was created later: a
 * list that is older than the last one read lacks exactly the newest customers. A list goes forward, so as soon as it shows a
 * newer customer than they are, their absence is real. Creation times are compared by the second. An absent customer who
 * shares the second of the newest one listed is judged like those created after it, where there are any; where there are none,
 * the list is not taken for an older one: a whole import may have been created in one second. No customer is left unjudged
 * where creation times cannot be read.
 */
export function findUnjudged(db: Connection, run: Run, absent: readonly Dated[]): Set<number> {
  const last = sqlTime(run.startedAtMs + AHEAD_MS).slice(0, 'YYYY-MM-DD HH:MM:SS'.length)
  const dated = absent.flatMap(({ rowId, createdAtUtc: createdAt }) =>
    createdAt === null || createdAt > last ? [] : [{ rowId, createdAt }],
  )
  const newest = dated.reduce((latest, { createdAt }) => (createdAt > latest ? createdAt : latest), '')
  const listed = newest === '' ? undefined : findNewestListed(db, run, absent, { than: newest, last })
  if (listed === undefined || listed >= newest) return new Set()
  return new Set(dated.filter(({ createdAt }) => createdAt >= listed).map(({ rowId }) => rowId))
}

/** `than`: the creation time of the newest absent customer. A time after `last` is wrong. */
type Times = { than: string; last: string }

/**
 * The creation time of the newest received customer, rejects included, or of any received customer newer than `than`. Customers
 * created after `last` are ignored.
 */
function findNewestListed(db: Connection, run: Run, absent: readonly Dated[], times: Times): string | undefined {
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
function findNewerAtEnds(db: Connection, { seen }: Run, { than, last }: Times): string | undefined {
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
