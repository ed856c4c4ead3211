import Database from 'better-sqlite3'
import type { Connection } from './database.ts'

/**
 * Does what creates indexes, in transactions of its own. Keys are sorted in temporary files; where there is no room for them, it is done once
 * more with the keys in memory: a mirror with room for its rows needs no other folder.
 */
export function withRoomToSort<Result>(db: Connection, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!lacksRoom(error)) throw error
    return inMemory(db, work)
  }
}

/**
 * Does what writes row by row, in a transaction of its own. SQLite copies each page that a statement changes, to undo that statement alone:
 * little at a time, which stays in memory here. In a temporary file it takes longer than to write the rows.
 */
export function withUndoInMemory<Result>(db: Connection, work: () => Result): Result {
  return inMemory(db, work)
}

/** Within a transaction, SQLite does not always let this setting be changed. */
function inMemory<Result>(db: Connection, work: () => Result): Result {
  db.pragma('temp_store = MEMORY')
  try {
    return work()
  } finally {
    db.pragma('temp_store = DEFAULT')
  }
}

function lacksRoom(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Database.SqliteError && /^SQLITE_(FULL|IOERR|CANTOPEN)/.test(cause.code)
}
