import type Database from 'better-sqlite3'

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
