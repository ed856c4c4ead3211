import type Database from 'better-sqlite3'

type Kept = Map<string, Database.Statement>
const keptByConnection = new WeakMap<Database.Database, Kept>()

/** The prepared statement for `sql`, prepared once a connection. */
export function statement<Parameters extends unknown[], Row>(
  db: Database.Database,
  sql: string,
): Database.Statement<Parameters, Row> {
  let kept = keptByConnection.get(db)
  if (kept === undefined) keptByConnection.set(db, (kept = new Map()))
  let prepared = kept.get(sql)
  if (prepared === undefined) kept.set(sql, (prepared = db.prepare(sql)))
  // The border to SQL: what a statement takes and gives is known to whoever wrote it, and checked by the tests that run it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return prepared as Database.Statement<Parameters, Row>
}
