import type Database from 'better-sqlite3'

type Kept = Map<string, Database.Statement<unknown[], unknown>>
const keptByConnection = new WeakMap<Database.Database, Kept>()

/** The prepared statement for `sql`, prepared once a connection. */
export function statement<Parameters extends unknown[], Row>(
  db: Database.Database,
  sql: string,
): Database.Statement<Parameters, Row> {
  let kept = keptByConnection.get(db)
  if (kept === undefined) keptByConnection.set(db, (kept = new Map()))
  let prepared = kept.get(sql)
  if (prepared === undefined) kept.set(sql, (prepared = db.prepare<unknown[], unknown>(sql)))
  return prepared as Database.Statement<Parameters, Row>
}
