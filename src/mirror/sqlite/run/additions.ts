import Database from 'better-sqlite3'
import { MirrorUnusable } from '../../../errors/errors.ts'
import type { Connection } from '../opening/database.ts'

/**
 * Notes what someone added to the tables of a mirror that is about to be migrated; `made` is what its own version made. To be called after the
 * migration, the result puts back indexes and triggers that were dropped with a table that is written anew. It throws MirrorUnusable for a
 * column, and for what cannot be put back.
 */
export function noteAdditions(db: Connection, made: string): () => void {
  const ours = new Database(':memory:').exec(made)
  const own = new Set(definitionsIn(ours).map(({ name }) => name))
  const added = definitionsIn(db).filter(({ name }) => !own.has(name))
  const columns = tablesIn(ours).flatMap((table) => {
    const known = columnsIn(ours, table)
    return columnsIn(db, table).flatMap((column) => (known.includes(column) ? [] : [{ table, column }]))
  })
  ours.close()

  return () => {
    const tables = tablesIn(db)
    for (const { table, column } of columns)
      if (tables.includes(table) && !columnsIn(db, table).includes(column))
        throw cannotKeep(db, `column "${column}" of ${table}`)
    const left = new Set(definitionsIn(db).map(({ name }) => name))
    for (const { name, type, sql } of added) {
      if (left.has(name)) continue
      try {
        db.exec(sql)
      } catch (error) {
        // It names a column that is gone.
        const cannot = error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR'
        throw cannot ? cannotKeep(db, `${type} "${name}"`, error) : error
      }
    }
  }
}

type Definition = { name: string; type: 'index' | 'trigger'; sql: string }

function definitionsIn(db: Connection): Definition[] {
  const sql = `SELECT name, type, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`
  return db.prepare<[], Definition>(sql).all()
}

function tablesIn(db: Connection): string[] {
  return db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all()
}

function columnsIn(db: Connection, table: string): string[] {
  return db.prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?)').pluck().all(table)
}

function cannotKeep(db: Connection, what: string, cause?: unknown): MirrorUnusable {
  return new MirrorUnusable(
    `${db.name}: holds the ${what} that someone added, and this version writes that table anew. The mirror was left as it is: move what ` +
      'you need of it to a table of your own, drop it, and try again.',
    { code: 'foreign' },
    { cause },
  )
}
