import type { Connection } from '../../mirror/sqlite/database.ts'
import { hasTable } from '../has-table.ts'

/** The highest seq that was ever given; 0 where there was no change. A copy for readers knows only its own. */
export function lastSeq(db: Connection): number {
  const given = hasTable(db, 'sqlite_sequence')
    ? db.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'changes'`).pluck().get()
    : undefined
  if (given !== undefined) return Number(given)
  const deleted = hasTable(db, 'horizons') ? 'SELECT coalesce(MAX(feed_seq), 0) FROM horizons' : 'SELECT 0'
  return Number(db.prepare(`SELECT max((SELECT coalesce(MAX(seq), 0) FROM changes), (${deleted}))`).pluck().get())
}

/** The last seq before those of changes after this time: the customers as they were then hold all changes up to it. */
export function lastSeqAt(db: Connection, time: string): number {
  const later = db.prepare<[string], bigint | null>('SELECT MIN(seq) FROM changes WHERE at > ?').pluck().get(time)
  return later === undefined || later === null ? lastSeq(db) : Number(later) - 1
}

/**
 * Where the feed of these organizations begins: from `seq` on no change was deleted, so a reader who has all changes
 * before it misses none, and the history is as it was from the time `at` on. All of them are there while it is 1.
 */
export function feedStart(db: Connection, organizations: readonly string[]): { seq: number; at: string } {
  if (!hasTable(db, 'horizons')) return { seq: 1, at: '' }
  const found = db
    .prepare<[string], { seq: bigint | number | null; at: string | null }>(
      `SELECT MAX(feed_seq) AS seq, MAX(max(coalesce(history_from, ''), coalesce(customers_from, ''))) AS at
       FROM horizons WHERE organization IN (SELECT value FROM json_each(?))`,
    )
    .safeIntegers(false)
    .get(JSON.stringify(organizations))
  return { seq: Number(found?.seq ?? 0) + 1, at: found?.at ?? '' }
}
