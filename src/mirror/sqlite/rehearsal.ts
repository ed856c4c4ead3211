import { ifThere } from '../if-there.ts'
import { quoted } from '../quoted.ts'
import { rehearsedTables } from '../rehearsed-tables.ts'
import { openDatabase, openTemporary, type Connection } from './database.ts'
import { fileError } from './file-errors.ts'

/** A private temporary database with a copy of the organizations' data in the mirror at `file`, if there is one. */
export async function openRehearsal(
  file: string,
  organizations: readonly string[],
  lists: { withLists?: boolean } = {},
): Promise<Connection> {
  const isThere = await ifThere(migrate(file))
  const db = openTemporary()
  try {
    if (isThere === undefined) return db
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

/** An older mirror is migrated before it is copied. */
async function migrate(file: string): Promise<true> {
  openDatabase(file, 'read').close()
  return true
}

function copyRows(db: Connection, table: string, organizations: readonly string[]): void {
  const columns = db
    .prepare<[string], string>(`SELECT name FROM pragma_table_info(?, 'original')`)
    .pluck()
    .all(table)
    .map(quoted)
    .join(', ')
  db.prepare(
    `INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM original.${table}
     WHERE organization IN (SELECT value FROM json_each(?))`,
  ).run(JSON.stringify(organizations))
}
