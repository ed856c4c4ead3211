import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Organizations } from '../organizations.ts'
import type { Erased, Mirror, Opening, Traces } from '../store.ts'
import { mirrorOn } from './verbs.ts'
import { organizationsIn } from './organizations.ts'
import { savePages } from './pages/save-in-sqlite.ts'
import { meddledWith } from './port/sqlite-errors.ts'
import { type Opened, sqliteSession, sqliteStore } from './port/sqlite-store.ts'
import { findDamage, openDatabase } from './sqlite/open-database.ts'
import { BUSY_TIMEOUT_MS, type Connection } from './sqlite/connect.ts'
import { additionsIn, failingIn } from './sqlite/foreign-objects.ts'
import { openFile } from './sqlite/open-file.ts'
import {
  createIdIndex,
  createIndex,
  forgetInitialIds,
  initialIdsOf,
  isFirstOfAll,
  lacksIdIndex,
  mayIndexForReaders,
  missingIndexes,
  readWithoutIdIndex,
} from './sqlite/indexes.ts'

export async function openMirror(file: string, { signal, waitsOnceStopped = false }: Opening = {}): Promise<Mirror> {
  const db = await openPatiently(file, signal)
  return mirrorIn(db, file, { place: openFile(file), signal: waitsOnceStopped ? undefined : signal })
}

export async function openMirrorToRead(file: string): Promise<Mirror> {
  return mirrorIn(openDatabase(file, 'read'), file)
}

export async function openOrganizations(file: string): Promise<Organizations> {
  openDatabase(file, 'read').close()
  const db = openDatabase(file, 'write')
  return organizationsIn(sqliteStore(db, file, { place: openFile(file) }))
}

export function findAdditions(file: string): string[] {
  const db = openDatabase(file, 'read')
  try {
    const refused = failingIn(db)
    if (refused !== undefined) throw meddledWith(file, refused)
    return additionsIn(db)
  } finally {
    db.close()
  }
}

export async function eraseTraces(
  file: string,
  traces: Traces,
  thorough: { isThorough?: boolean } = {},
): Promise<Erased> {
  return (await import('./sqlite/purge.ts')).eraseTraces(file, traces, thorough)
}

/** The mirror on an open connection. */
export function mirrorIn(db: Connection, file: string, opened: Opened = {}): Mirror {
  // To undo a statement, SQLite keeps a copy of each page that it changes, and it sorts the keys of an index: no folder has to have room.
  db.pragma('temp_store = MEMORY')
  const store = sqliteStore(db, file, opened)
  const { place } = opened
  /** An index of a hundred thousand customers is created in 0.1 s. Afterwards other runs and health checks have a turn. */
  const create = async (work: () => void) => {
    await store.write(async () => work())
    await nextTurn()
  }
  const mirror = mirrorOn(store, {
    standing: () => place?.standing() ?? 'same',
    savePages: (run, pages, nowMs, onWaiting) => {
      onWaiting?.()
      return store.write(() => savePages(sqliteSession(db), run, pages, nowMs))
    },
    began: (run) => {
      const isFirst = run.isBaseline && !run.isQuick && isFirstOfAll(db, run.organization)
      if (isFirst) readWithoutIdIndex(db, run)
      else createIdIndex(db)
    },
    pagesAtOnce: (run) => (initialIdsOf(run) === undefined ? 64 : 16),
    ending: async (run, isWell) => {
      forgetInitialIds(db, run)
      if (isWell && lacksIdIndex(db)) await create(() => createIdIndex(db))
    },
    indexForReaders: async (nowMs) => {
      if (place === undefined || !mayIndexForReaders(db, nowMs)) return
      for (const index of missingIndexes(db)) await create(() => createIndex(db, index))
    },
    findDamage: () => store.read(async () => [...findDamage(db)]),
  })
  return {
    ...mirror,
    // Without the index of ids, the only organization of the mirror is read for the first time.
    findKnownElsewhere: async (...asked) =>
      lacksIdIndex(db) ? { count: 0, mostlyOf: undefined } : mirror.findKnownElsewhere(...asked),
  }
}

/** For how long an attempt to open the mirror may block the event loop, and the pause before the next one. */
const ATTEMPT_MS = 50
const PAUSE_MS = 100

/** Opens the mirror at `file` to write; waits for another program without blocking the event loop, or until `signal` is aborted. */
export async function openPatiently(file: string, signal: AbortSignal | undefined): Promise<Connection> {
  for (let waitedMs = 0; ; waitedMs += ATTEMPT_MS + PAUSE_MS) {
    try {
      const db = openDatabase(file, 'write', ATTEMPT_MS)
      db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
      return db
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || signal?.aborted === true) throw error
      if (!(error instanceof Error && isBusy(error.cause))) throw error
    }
    await sleep(PAUSE_MS)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
