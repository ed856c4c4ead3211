import type Database from 'better-sqlite3'

/** A connection to a file that notes the statements it is asked to prepare. */
export function notingStatements(db: Database.Database): { noting: Database.Database; statements: string[] } {
  const statements: string[] = []
  const prepare = (sql: string) => {
    statements.push(sql)
    return db.prepare(sql)
  }
  return { noting: Object.assign(Object.create(db), { prepare }), statements }
}

/** What SQLite says of its plan for a statement, step by step. */
export function planOf(db: Database.Database, sql: string): string[] {
  const names = [...sql.matchAll(/@(\w+)/g)].map(([, name]) => [String(name), null])
  const unnamed = sql.match(/\?/g)?.map(() => null) ?? []
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
  return steps.all(...(names.length > 0 ? [Object.fromEntries(names)] : unnamed)).map(({ detail }) => detail)
}
