import { MirrorUnusable } from '../../errors.ts'
import { rehearsedTables } from '../rehearsed-tables.ts'
import { openDatabase, openTemporary, type Connection } from './database.ts'
import { fileError } from './file-errors.ts'

/** A private temporary database with a copy of the organizations' data in the mirror at `file`, if there is one. */
export function openRehearsal(
  file: string,
  organizations: readonly string[],
  lists: { withLists?: boolean } = {},
): Connection {
  const exists = isThere(file)
  const db = openTemporary()
  try {
    if (!exists) return db
    db.prepare('ATTACH ? AS original').run(file)
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

function isThere(file: string): boolean {
  try {
    openDatabase(file, 'read').close()
    return true
  } catch (error) {
    if (error instanceof MirrorUnusable && error.code === 'mirror-missing') return false
    throw error
  }
}

function copyRows(db: Connection, table: string, organizations: readonly string[]): void {
  const columns = db
    .prepare<[string], string>(`SELECT name FROM pragma_table_info(?, 'original')`)
    .pluck()
    .all(table)
    .map((column) => `"${column}"`)
    .join(', ')
  db.prepare(
    `INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM original.${table}
     WHERE organization IN (SELECT value FROM json_each(?))`,
  ).run(JSON.stringify(organizations))
}
