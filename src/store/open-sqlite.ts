import { isPostgres, shownMirror } from '../address/mirror-address.ts'
import type { Opening } from '../model/mirror.ts'
import { lacksIdIndex, savingIn } from './pages/save-in-sqlite.ts'
import { quoted } from './port/sql.ts'
import { additionsIn, failingIn, fileError, meddledWith } from './port/sqlite-errors.ts'
import { LOOK_MS, type Opened, patiently, sqliteSession, sqliteStore } from './port/sqlite-store.ts'
import { ifThere } from './refusals.ts'
import { MEMORY_OF_LIST } from './runs/list-memory.ts'
import { BUSY_TIMEOUT_MS, type Connection } from './sqlite/connect.ts'
import { findDamage, openDatabase, openFile, openTemporary } from './sqlite/open-database.ts'
import { inMirrorFile } from './sqlite/open-to-read.ts'
import { mirrorOn, type Mirror } from './verbs.ts'

export async function openMirror(file: string, { signal, waitsOnceStopped = false }: Opening = {}): Promise<Mirror> {
  const db = await patiently(
    () => openDatabase(file, 'write', LOOK_MS),
    () => signal?.aborted !== true,
  )
  db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return mirrorIn(db, file, { place: openFile(file), signal: waitsOnceStopped ? undefined : signal })
}

export async function openMirrorToRead(file: string): Promise<Mirror> {
  return mirrorIn(openDatabase(file, 'read'), file)
}

export function findAdditions(file: string): string[] {
  return inMirrorFile(file, (db) => {
    const refused = failingIn(db)
    if (refused !== undefined) throw meddledWith(file, refused)
    return additionsIn(db)
  })
}

export function mirrorIn(db: Connection, file: string, opened: Opened = {}): Mirror {
  // To undo a statement, SQLite keeps a copy of each page that it changes, and it sorts the keys of an index: no folder has to have room.
  db.pragma('temp_store = MEMORY')
  const store = sqliteStore(db, file, opened)
  const { place } = opened
  const mirror = mirrorOn(store, {
    standing: () => place?.standing() ?? 'same',
    ...savingIn(db, store),
    isTemporary: place === undefined,
    findDamage: () => findDamage(db),
  })
  return {
    ...mirror,
    // Without the index of ids, the only organization of the mirror is read for the first time.
    findKnownElsewhere: async (...asked) =>
      lacksIdIndex(db) ? { count: 0, mostlyOf: undefined } : mirror.findKnownElsewhere(...asked),
  }
}

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
  const { copyRows } = await import('./move-mirror.ts')
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
