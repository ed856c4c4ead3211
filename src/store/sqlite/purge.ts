import Database from 'better-sqlite3'
import { closeSync, openSync, readSync, realpathSync } from 'node:fs'
import { type Connection, withSetting } from './connect.ts'
import { isMissing } from '../../machine/is-missing.ts'
import type { Erased, Traces } from '../../model/mirror.ts'
import { openDatabase } from './open-database.ts'
import { systemCode } from '../../errors/faults.ts'

/** A program that reads the file is not waited for longer than this. */
const PATIENCE_MS = 1000

/**
 * Removes from the file and its WAL what is no longer in any table: values that were replaced before `deletingSecurely` was used stand
 * in free space too, so the whole file is written anew. False if another program keeps the file busy or there is no room; the file
 * is as good as before then, and it can be tried again.
 */
export function purge(db: Connection): boolean {
  return unlessBusy(db, PATIENCE_MS, () => {
    forgetSamples(db)
    db.exec('VACUUM')
    return isWalEmptied(db)
  })
}

/** Empties the WAL, which holds earlier versions of deleted rows; false if another program keeps the file busy: try again. */
export function emptyWal(db: Connection, { patienceMs = PATIENCE_MS } = {}): boolean {
  return unlessBusy(db, patienceMs, () => isWalEmptied(db))
}

function isWalEmptied(db: Connection): boolean {
  return Number(db.pragma('wal_checkpoint(TRUNCATE)', { simple: true })) === 0
}

function unlessBusy(db: Connection, patienceMs: number, work: () => boolean): boolean {
  const before = Number(db.pragma('busy_timeout', { simple: true }))
  const patience = { during: `busy_timeout = ${patienceMs}`, after: `busy_timeout = ${before}` }
  try {
    return withSetting(db, patience, work)
  } catch (error) {
    if (error instanceof Database.SqliteError) return false
    throw error
  }
}

/** ANALYZE, which a reader may have run, keeps samples of indexed values. */
function forgetSamples(db: Connection): void {
  const tables = db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat4'`).pluck().all()
  for (const table of tables) db.exec(`DELETE FROM ${table}`)
}

/**
 * Makes sure that no byte of the mirror's files holds any of these traces, whose rows were deleted. Rows that were changed or
 * deleted in earlier nights may have left them in unused parts of the file, which is then written anew, in as much time as a copy
 * of it takes. `isThorough` writes it anew in any case. No other connection of this process may have the mirror open: closing
 * a file that was read beside SQLite would release its locks. Throws MirrorUnusable.
 */
export function eraseTraces(file: string, { id, values }: Traces, { isThorough = false } = {}): Erased {
  try {
    if (!withConnection(file, emptyWal)) return 'busy'
    if (!isThorough && !holdsAny(file, [...id, ...values])) return 'erased'
    if (!withConnection(file, purge)) return 'busy'
    return holdsAny(file, id) ? 'held' : 'erased'
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return 'busy' // The disk failed while the bytes were looked for.
  }
}

function withConnection(file: string, work: (db: Connection) => boolean): boolean {
  const db = openDatabase(file, 'write')
  try {
    return work(db)
  } finally {
    db.close()
  }
}

const CHUNK_BYTES = 4 * 1024 * 1024

/** Whether the bytes of the file, its WAL or its index hold any of these texts. */
function holdsAny(file: string, texts: readonly string[]): boolean {
  const wanted = texts.map((text) => Buffer.from(text)).filter(({ length }) => length > 0)
  const real = realpathSync(file)
  return [real, `${real}-wal`, `${real}-shm`].some((path) => wanted.length > 0 && fileHolds(path, wanted))
}

function fileHolds(path: string, wanted: readonly Buffer[]): boolean {
  if (isMissing(path)) return false
  const longest = Math.max(...wanted.map(({ length }) => length))
  const buffer = Buffer.alloc(CHUNK_BYTES + longest)
  const descriptor = openSync(path, 'r')
  try {
    for (let kept = 0; ;) {
      const read = readSync(descriptor, buffer, kept, CHUNK_BYTES, null)
      if (read === 0) return false
      const filled = buffer.subarray(0, kept + read)
      if (wanted.some((text) => filled.includes(text))) return true
      // A text may stand across two chunks.
      kept = Math.min(longest - 1, filled.length)
      buffer.copyWithin(0, filled.length - kept, filled.length)
    }
  } finally {
    closeSync(descriptor)
  }
}
