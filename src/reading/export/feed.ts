import type { Connection } from '../../store/sqlite/connect.ts'
import { lastNumber } from '../last-number.ts'

/** In copies of a mirror on a server: beside the last numbers of its tables, the highest seq that the server gave to any change. */
export const GIVEN_BY_SERVER = 'changes of the server'

/**
 * The seq where the changes after this state of the file go on: the highest that was given, or below which changes were deleted or undone;
 * 0 where there was no change. A copy from before it had that number knows only its own.
 */
export function lastSeq(db: Connection): number {
  const known = db.prepare(KNOWN).pluck().get()
  return Math.max(lastNumber(db, 'changes'), Number(known))
}

const KNOWN = `SELECT max((SELECT coalesce(MAX(seq), 0) FROM changes), (SELECT coalesce(MAX(feed_seq), 0) FROM horizons))`

/** The highest seq that a reader may have read. Its change, and those before it, may have been deleted with their organization. */
export function lastGiven(db: Connection): number {
  return Math.max(lastSeq(db), lastNumber(db, GIVEN_BY_SERVER))
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
  const found = db
    .prepare<[string], { seq: bigint | number | null; at: string | null }>(
      `SELECT MAX(feed_seq) AS seq, MAX(max(coalesce(history_from, ''), coalesce(customers_from, ''))) AS at
       FROM horizons WHERE organization IN (SELECT value FROM json_each(?))`,
    )
    .safeIntegers(false)
    .get(JSON.stringify(organizations))
  return { seq: Number(found?.seq ?? 0) + 1, at: found?.at ?? '' }
}
