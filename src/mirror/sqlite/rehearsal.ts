import Database from 'better-sqlite3'
import { ifThere } from '../errors/if-there.ts'
import { quoted } from '../sql/quoted.ts'
import { rehearsedTables } from '../sql/rehearsed-tables.ts'
import { migrateTemporary, openAsItIs, openTemporary, type Connection } from './opening/database.ts'
import { fileError } from './opening/file-errors.ts'
import { makeTables } from './opening/migrate.ts'
import { attachReadOnly } from './opening/read-only-file.ts'

/**
 * A private temporary database with a copy of the organizations' data in the mirror at `file`, if there is one. Only the copy of an older mirror
 * is migrated: the mirror itself stays as it is, for the older program that may write it.
 */
export async function openRehearsal(
  file: string,
  organizations: readonly string[],
  lists: { withLists?: boolean } = {},
): Promise<Connection> {
  if ((await ifThere(requireMirror(file))) === undefined) return openTemporary()
  const db = new Database('')
  try {
    attachReadOnly(db, file, 'original')
    // One transaction, so that the copy is one state of the original.
    db.transaction(() => {
      makeTables(db, Number(db.pragma('original.user_version', { simple: true })))
      for (const table of rehearsedTables(lists)) copyRows(db, table, organizations)
    })()
    db.exec('DETACH original')
    migrateTemporary(db)
    return db
  } catch (error) {
    db.close()
    throw fileError(error, file)
  }
}

async function requireMirror(file: string): Promise<true> {
  openAsItIs(file).close()
  return true
}

/** An older mirror may not have the table, and someone may have added a column to it. */
function copyRows(db: Connection, table: string, organizations: readonly string[]): void {
  const columns = columnsOf(db, table, 'original').filter((column) => columnsOf(db, table, 'main').includes(column))
  if (columns.length === 0) return
  const names = columns.map(quoted).join(', ')
  db.prepare(
    `INSERT INTO main.${table} (${names}) SELECT ${names} FROM original.${table}
     WHERE organization IN (SELECT value FROM json_each(?))`,
  ).run(JSON.stringify(organizations))
}

function columnsOf(db: Connection, table: string, schema: 'original' | 'main'): string[] {
  return db.prepare<[string, string], string>('SELECT name FROM pragma_table_info(?, ?)').pluck().all(table, schema)
}
