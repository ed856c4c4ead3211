import Database from 'better-sqlite3'

/** How long a write waits for another program's transaction before it gives up. */
export const BUSY_TIMEOUT_MS = 15_000

/**
 * Opens a file of SQLite. Throws SqliteError, also where its folder is not there, or cannot be looked at: the driver looks for it before SQLite
 * does, and says so without a code.
 */
export function connect(file: string, options: Database.Options = {}): Database.Database {
  try {
    return new Database(file, options)
  } catch (error) {
    throw withoutFolder(error)
  }
}

/** The error of SQLite for a folder that the driver did not find; any other error unchanged. */
export function withoutFolder(error: unknown): unknown {
  const isOfDriver = error instanceof TypeError && error.message.endsWith('because the directory does not exist')
  return isOfDriver ? new Database.SqliteError('unable to open database file', 'SQLITE_CANTOPEN') : error
}
