import type { Connection } from '../../mirror/database.ts'

/** The highest seq that was ever given; 0 where there was no change. A copy for readers knows only its own. */
export function lastSeq(db: Connection): number {
  const given = hasTable(db, 'sqlite_sequence')
    ? db.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'changes'`).pluck().get()
    : undefined
  return Number(given ?? db.prepare('SELECT coalesce(MAX(seq), 0) FROM changes').pluck().get())
}

/**
 * Where the feed begins: from `seq` on no change was deleted, so a reader who has all changes before it misses none, and the
 * history is as it was from the time `at` on. All of them are there while it is 1.
 */
export function feedStart(_db: Connection): { seq: number; at: string } {
  return { seq: 1, at: '' }
}

function hasTable(db: Connection, name: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
}
