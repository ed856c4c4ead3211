import Database from 'better-sqlite3'
import type { Connection } from './database.ts'

/**
 * Runs `work`, which creates indexes, in transactions of its own. SQLite sorts their keys in temporary files. Where these have no room,
 * the work is done once more with the keys in memory: a mirror needs no room in another folder.
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
 * Runs `work`, which writes row by row, in a transaction of its own. SQLite keeps a copy of each page that a statement changes, to undo
 * that statement alone. That is little at a time, and stays in memory here: with a temporary file it takes longer than the rows.
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
