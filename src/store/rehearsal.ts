import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import type { Mirror } from './verbs.ts'
import { copyRows } from './move-mirror.ts'
import { mirrorIn } from './open-sqlite.ts'
import { quoted } from './port/sql.ts'
import { fileError } from './port/sqlite-errors.ts'
import { sqliteSession } from './port/sqlite-store.ts'
import { ifThere } from './refusals.ts'
import { MEMORY_OF_LIST } from './runs/list-memory.ts'
import type { Connection } from './sqlite/connect.ts'
import { openDatabase, openTemporary } from './sqlite/open-database.ts'

/** The tables that a run reads or writes, except the memory of the list, each after those that it refers to. */
const REHEARSED = 'runs customers absences rejects held_rows privacy_policies forgotten_keys forgotten'.split(' ')

export async function rehearseMirror(
  address: string,
  organizations: readonly string[],
  { withLists = false }: { withLists?: boolean } = {},
): Promise<Mirror> {
  const copying = { organizations, tables: withLists ? [...REHEARSED, ...MEMORY_OF_LIST] : REHEARSED }
  const db = openTemporary()
  try {
    await (isPostgres(address) ? copyFromServer : copyFromFile)(db, address, copying)
    return mirrorIn(db, shownMirror(address))
  } catch (error) {
    db.close()
    throw error
  }
}

type Copying = { organizations: readonly string[]; tables: readonly string[] }

async function copyFromServer(db: Connection, address: string, copying: Copying) {
  const { openDatabase: openServer } = await import('./postgres/open-database.ts')
  const database = await ifThere(openServer(address, 'read'))
  try {
    await database?.read(async (session) => {
      // The server may end a statement, on a standby above all; then all of it is read again.
      if (db.inTransaction) db.exec('ROLLBACK')
      db.exec('BEGIN')
      await copyRows({ from: session, to: sqliteSession(db), ...copying })
      db.exec('COMMIT')
    })
  } finally {
    await database?.close()
  }
}

/** Without the columns that someone added to the original. */
async function copyFromFile(db: Connection, file: string, { organizations, tables }: Copying) {
  const original = await ifThere((async () => openDatabase(file, 'read'))())
  if (original === undefined) return
  original.close()
  try {
    db.prepare('ATTACH ? AS original').run(file)
    const columns = db.prepare<[string], string>(`SELECT name FROM pragma_table_info(?, 'main')`).pluck()
    db.transaction(() => {
      for (const table of tables) {
        const names = columns.all(table).map(quoted).join(', ')
        db.prepare(
          `INSERT INTO main.${table} (${names}) SELECT ${names} FROM original.${table}
           WHERE organization IN (SELECT value FROM json_each(?))`,
        ).run(JSON.stringify(organizations))
      }
    })()
    db.exec('DETACH original')
  } catch (error) {
    throw fileError(error, file)
  }
}
