import type { PGlite } from '@electric-sql/pglite'
import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openDatabase } from '../../src/store/postgres/open-database.ts'
import type { Connections, Database, ServerSession } from '../../src/store/port/postgres-session.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { pgliteConnections } from './pglite-connections.ts'
import { anEmptyMirror } from './postgres/emptied.ts'
import type { Tables } from './random-tables.ts'
import { temporaryFolder } from './temp-folder.ts'
import { text } from '../../src/store/port/sql.ts'

/** A mirror in a file of SQLite with these rows, whatever store the tests are run on. */
export async function inSqlite(tables: Tables) {
  const file = join(temporaryFolder(), 'customers.db')
  const mirror = await openMirror(file)
  onTestFinished(() => mirror.close())
  const db = new Sqlite(file)
  db.pragma('foreign_keys = OFF')
  for (const [table, rows] of Object.entries(tables))
    for (const row of rows) {
      const names = Object.keys(row)
      db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`).run(
        ...Object.values(row),
      )
    }
  onTestFinished(() => void db.close())
  return { file, mirror, rows: (sql: string) => db.prepare<[], Record<string, unknown>>(sql).all() }
}

/** A mirror in PostgreSQL with these rows. */
export async function inPostgres(
  server: PGlite,
  tables: Tables,
  connect: () => Connections = () => pgliteConnections(server),
): Promise<Database> {
  const database = await openDatabase(await anEmptyMirror(), 'write', { connect })
  onTestFinished(() => database.close())
  await database.write(async (session) => {
    for (const [table, rows] of Object.entries(tables)) for (const row of rows) await insertRow(session, table, row)
    // As if the mirror had given the numbers itself.
    for (const [table, column] of [
      ['runs', 'id'],
      ['changes', 'seq'],
      ['rejects', 'reject_id'],
    ])
      await session.run(text(`SELECT setval(pg_get_serial_sequence('${table}', '${column}'), 1000)`))
  })
  return database
}

/** Without the column that PostgreSQL fills in. */
async function insertRow(
  session: ServerSession,
  table: string,
  { is_active: _isActive, ...row }: Record<string, unknown>,
): Promise<void> {
  const names = Object.keys(row)
  await session
    .query(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((_name, at) => `$${at + 1}`).join(', ')})`,
      ...Object.values(row),
    )
    .then((answer) => answer.count)
}

/** Rows as texts that can be compared, whatever order they came in. */
export function sortedRows(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted()
}
