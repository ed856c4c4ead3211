import Database from 'better-sqlite3'
import type { Connection } from './opening/database.ts'
import { withSetting } from './opening/with-setting.ts'

/**
 * Runs `work`, which creates indexes, in transactions of its own. SQLite sorts their keys in temporary files. Where these have no room,
 * the work is done once more with the keys in memory: a mirror needs no room in another folder.
 */
export function withRoomToSort<Result>(db: Connection, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!lacksRoom(error)) throw error
    return withoutTemporaryFiles(db, work)
  }
}

/**
 * Runs `work`, in transactions of its own, without temporary files: within one, SQLite does not always let this setting be changed. To undo
 * a statement alone, SQLite keeps a copy of each page that it changes. Where work writes row by row, that is little at a time, and with a
 * temporary file it takes longer than the rows.
 */
export function withoutTemporaryFiles<Result>(db: Connection, work: () => Result): Result {
  return withSetting(db, { during: 'temp_store = MEMORY', after: 'temp_store = DEFAULT' }, work)
}

function lacksRoom(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Database.SqliteError && /^SQLITE_(FULL|IOERR|CANTOPEN)/.test(cause.code)
}
