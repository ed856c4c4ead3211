import Database from 'better-sqlite3'

export type Connection = Database.Database

/** How long a write waits for another program's transaction before it gives up. */
export const BUSY_TIMEOUT_MS = 15_000

/** Opens a file of SQLite. Throws SqliteError, also for a folder that is not there, of which the driver speaks without a code. */
export function connect(file: string, options: Database.Options = {}): Database.Database {
  try {
    return new Database(file, options)
  } catch (error) {
    const isOfDriver = error instanceof TypeError && error.message.endsWith('because the directory does not exist')
    throw isOfDriver ? new Database.SqliteError('unable to open database file', 'SQLITE_CANTOPEN') : error
  }
}

/** Opens a file to read only. Throws as `connect` does. */
export function connectToRead(file: string, timeout: number = BUSY_TIMEOUT_MS): Database.Database {
  return connect(file, { readonly: true, fileMustExist: true, timeout })
}

type Kept = Map<string, Database.Statement>
const keptByConnection = new WeakMap<Database.Database, Kept>()

/** The prepared statement for `sql`, prepared once for each connection. */
export function statement<Parameters extends unknown[], Row>(
  db: Database.Database,
  sql: string,
): Database.Statement<Parameters, Row> {
  let kept = keptByConnection.get(db)
  if (kept === undefined) keptByConnection.set(db, (kept = new Map()))
  let prepared = kept.get(sql)
  if (prepared === undefined) kept.set(sql, (prepared = db.prepare(sql)))
  // The border to SQL: the author of a statement declares its parameters and rows, and the tests that run it check them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return prepared as Database.Statement<Parameters, Row>
}
