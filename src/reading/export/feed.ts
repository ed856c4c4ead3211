import type { Connection } from '../../mirror/database.ts'

/** The highest seq that was ever given; 0 where there was no change. A copy for readers knows only its own. */
export function lastSeq(db: Connection): number {
  const given = hasTable(db, 'sqlite_sequence')
    ? db.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'changes'`).pluck().get()
    : undefined
  return Number(given ?? db.prepare('SELECT coalesce(MAX(seq), 0) FROM changes').pluck().get())
}

/**
 * The lowest seq from which on no change was deleted: a reader who has all changes before it misses none. 1 while all of them
 * are there.
 */
export function firstCompleteSeq(_db: Connection): number {
  return 1
}

function hasTable(db: Connection, name: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
}
