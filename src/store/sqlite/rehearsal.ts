import { ifThere } from '../refusals.ts'
import { quoted } from '../port/sql.ts'
import { openDatabase, openTemporary } from './open-database.ts'
import type { Connection } from './connect.ts'
import { fileError } from '../port/sqlite-errors.ts'
import { attachReadOnly } from './read-only-file.ts'
import { MEMORY_OF_LIST } from '../organizations/organization-rows.ts'

/** A private temporary database with a copy of the organizations' data in the mirror at `file`, if there is one. */
export async function openRehearsal(
  file: string,
  organizations: readonly string[],
  lists: { withLists?: boolean } = {},
): Promise<Connection> {
  const isThere = await ifThere(requireMirror(file))
  const db = openTemporary()
  if (isThere === undefined) return db
  try {
    attachReadOnly(db, file, 'original')
    // One transaction, so that the copy is one state of the original.
    db.transaction(() => {
      for (const table of rehearsedTables(lists)) copyRows(db, table, organizations)
    })()
    db.exec('DETACH original')
    return db
  } catch (error) {
    db.close()
    throw fileError(error, file)
  }
}

async function requireMirror(file: string): Promise<true> {
  openDatabase(file, 'read').close()
  return true
}

/** Without the columns that someone added to the original. */
function copyRows(db: Connection, table: string, organizations: readonly string[]): void {
  const names = columnsOf(db, table).map(quoted).join(', ')
  db.prepare(
    `INSERT INTO main.${table} (${names}) SELECT ${names} FROM original.${table}
     WHERE organization IN (SELECT value FROM json_each(?))`,
  ).run(JSON.stringify(organizations))
}

function columnsOf(db: Connection, table: string): string[] {
  return db.prepare<[string], string>(`SELECT name FROM pragma_table_info(?, 'main')`).pluck().all(table)
}

/** The tables that a run reads or writes, except the memory of the list. */
const REHEARSED = [
  'runs',
  'customers',
  'absences',
  'rejects',
  'held_removals',
  'privacy_policies',
  'forgotten_keys',
  'forgotten',
]

/** The tables that a dry run needs a copy of, each after those that it refers to. A full one reads every record, and needs no list. */
export function rehearsedTables({ withLists = false } = {}): string[] {
  return withLists ? [...REHEARSED, ...MEMORY_OF_LIST] : REHEARSED
}
