import type { Opening } from '../model/mirror.ts'
import { lacksIdIndex, savingIn } from './pages/save-in-sqlite.ts'
import { additionsIn, failingIn, meddledWith } from './port/sqlite-errors.ts'
import { LOOK_MS, type Opened, patiently, sqliteStore } from './port/sqlite-store.ts'
import { BUSY_TIMEOUT_MS, type Connection } from './sqlite/connect.ts'
import { findDamage, openDatabase, openFile } from './sqlite/open-database.ts'
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
