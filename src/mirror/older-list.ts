import type { Connection } from './database.ts'
import type { Run } from './runs.ts'
import { sqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** An absent customer, with the time of creation as `YYYY-MM-DD HH:MM:SS`. */
type Dated = { rowId: number; createdAtUtc: string | null }

/** A creation time further ahead than any clock is wrong, and says nothing about which customer is the newest. */
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
  if (newest === '' || isNewerListed(db, run, newest, last)) return new Set()
  const listed = findNewestListed(db, run, newest)
  if (listed === undefined || listed === newest) return new Set()
  return new Set(dated.filter(({ createdAt }) => createdAt >= listed).map(({ rowId }) => rowId))
}

/** Mostly the first row will do. */
function isNewerListed(db: Connection, run: Run, than: string, last: string): boolean {
  const newer = statement<[string, string, string], Known>(
    db,
    `SELECT row_id, id, created_at_utc FROM customers
     WHERE organization = ? AND removed_at IS NULL AND created_at_utc > ? AND created_at_utc <= ?`,
  )
  for (const row of newer.iterate(run.organization, than, last)) if (isReceived(run, row)) return true
  return false
}

function findNewestListed(db: Connection, run: Run, last: string): string | undefined {
  const newestFirst = statement<[string, string], Known>(
    db,
    `SELECT row_id, id, created_at_utc FROM customers
     WHERE organization = ? AND removed_at IS NULL AND created_at_utc <= ? ORDER BY created_at_utc DESC`,
  )
  for (const row of newestFirst.iterate(run.organization, last)) if (isReceived(run, row)) return row.created_at_utc
  return undefined
}

type Known = { row_id: number; id: string; created_at_utc: string }

function isReceived(run: Run, { row_id, id }: Known): boolean {
  return run.seen.has(row_id) || run.rejectedIds.has(id)
}
