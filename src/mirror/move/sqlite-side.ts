import { quoted } from '../sql/quoted.ts'
import type { Connection } from '../sqlite/opening/database.ts'
import { NUMBERED, type MovedTable } from './moved-tables.ts'
import { columnsAfter, ORGANIZATIONS, type Row, type Scope, type Side, type Value, valuesOf } from './side.ts'

/** A mirror in SQLite. The caller holds its transaction. */
export function sqliteSide(db: Connection, place: string): Side {
  return {
    place,
    organizations: async () => db.prepare<[], string>(ORGANIZATIONS).pluck().all(),
    count: async (table, scope) =>
      db
        .prepare<[Binding], number>(`SELECT COUNT(*) FROM ${table.name} WHERE ${condition(table, scope)}`)
        .pluck()
        .get(scopeOf(scope)) ?? 0,
    page: async (table, scope, after) => readPage(db, table, scope, after),
    rowNumbers: async (organization) =>
      Uint32Array.from(
        db.prepare<[string], number>('SELECT row_id FROM customers WHERE organization = ?').pluck().all(organization),
      ).toSorted(),
    insert: async (table, rows) => {
      const names = Object.keys(table.columns)
      const into = `INSERT INTO ${table.name} (${names.map(quoted).join(', ')})`
      const insert = db.prepare<Value[]>(`${into} VALUES (${names.map(() => '?').join(', ')})`)
      for (const row of rows) insert.run(...row)
    },
    clear: async ({ name }) => void db.prepare(`DELETE FROM ${name}`).run(),
    highestNumbers: async () => {
      const given = new Map(db.prepare<[], [string, number]>('SELECT name, seq FROM sqlite_sequence').raw().all())
      return NUMBERED.map(({ table, column }) => {
        const highest = db.prepare<[], number | null>(`SELECT MAX(${column}) FROM ${table}`).pluck().get()
        return Math.max(given.get(table) ?? 0, highest ?? 0)
      })
    },
    continueAfter: async (numbers) => {
      for (const [at, { table }] of NUMBERED.entries()) {
        if (!isNumberedForEver(db, table)) continue
        db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
        db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(
          table,
          numbers[at] ?? 0,
        )
      }
    },
  }
}

type Binding = { scope?: string }

function readPage(db: Connection, table: MovedTable, scope: Scope, after: Row | undefined): Row[] {
  const key = columnsAfter(table, scope)
  const marks = key.map((_, at) => `@k${at}`).join(', ')
  const from = after === undefined ? '' : ` AND (${key.map(quoted).join(', ')}) > (${marks})`
  const values = after === undefined ? [] : valuesOf(table, key, after).map((value, at) => [`k${at}`, value] as const)
  return db
    .prepare<[Record<string, Value>], Value[]>(
      `SELECT ${Object.keys(table.columns).map(quoted).join(', ')} FROM ${table.name}
       WHERE ${condition(table, scope)}${from} ORDER BY ${table.key.map(quoted).join(', ')} LIMIT ${table.atOnce}`,
    )
    .raw()
    .all({ ...scopeOf(scope), ...Object.fromEntries(values) })
}

function condition({ of }: MovedTable, scope: Scope): string {
  if (scope === undefined || of === 'mirror') return 'true'
  const theirs = 'organization IN (SELECT value FROM json_each(@scope))'
  return of === 'organization' ? theirs : `run_id IN (SELECT id FROM runs WHERE ${theirs})`
}

function scopeOf(scope: Scope): Record<string, string> {
  return scope === undefined ? {} : { scope: JSON.stringify(scope) }
}

function isNumberedForEver(db: Connection, table: string): boolean {
  const sql = db.prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(table)
  return sql?.includes('AUTOINCREMENT') === true
}
