import Database from 'better-sqlite3'
import { chmodSync, closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { BUSY_TIMEOUT_MS, connect } from './connect.ts'
import { MirrorUnusable } from '../../../errors/errors.ts'
import { mirrorFault, noMirror } from '../../../errors/faults.ts'
import { isMissing } from '../../../machine/is-missing.ts'
import { makeFolder } from '../../../machine/make-folder.ts'
import { fingerprintKey } from '../fingerprint-key.ts'
import { fileError, sqliteError } from './file-errors.ts'
import { identityOf } from './file-identity.ts'
import { requireRegularFile } from './regular-file.ts'
import { APPLICATION_ID, isEmpty, makeSchema, requireVersion, requireWhole, versionOf } from './schema.ts'
import { openReadOnly } from './read-only-file.ts'
import { forgetStamp } from '../update-stamp.ts'
import { PUBLIC_TABLES } from '../../../public-tables.ts'
import { statement } from '../statement.ts'

export type Connection = Database.Database

/**
 * The size of the WAL, in pages of 4 KB, at which the transaction that reached it copies it: fewer copies of pages that are written again and
 * again, and short enough for other runs and health checks, which wait meanwhile.
 */
const CHECKPOINT_PAGES = 4096

/**
 * The page cache, in KB: enough for the index of a hundred thousand customers, and for the writes of one transaction. The index of a
 * million would not fit into any reasonable cache, and a night hardly reads it.
 */
export const CACHE_KB = 8_000

/**
 * The pages of 4 KB that a transaction changes before SQLite writes some of them: it writes those again that change once more, and in the
 * end the head of each. Enough for a night in which a thousand customers came or went.
 */
const CHANGED_PAGES = 4_096

/**
 * Opens the mirror at `file`, which is made there to write if there is none; waits for another program's transaction for `busyMs`. Throws
 * MirrorUnusable without having changed anything.
 */
export function openDatabase(file: string, access: 'read' | 'write', busyMs = BUSY_TIMEOUT_MS): Connection {
  if (access === 'read' && isMissing(file)) throw noMirror(file)
  try {
    if (access === 'write') createPrivately(file)
    requireRegularFile(file)
    return openChecked(file, access, busyMs)
  } catch (error) {
    throw fileError(error, file)
  }
}

/** A private temporary mirror without rows. */
export function openTemporary(): Connection {
  const db = new Database('')
  db.transaction(() => {
    makeSchema(db)
    fingerprintKey(db)
  })()
  return db
}

/** Runs `work` in one immediate transaction: all of its writes, or none. */
export function writeTransaction<Result>(db: Connection, file: string, work: () => Result): Result {
  forgetStamp(db)
  try {
    return db.transaction(work).immediate()
  } catch (error) {
    throw sqliteError(error, file)
  }
}

/** How rows of a mirror are written. `isKept`: it is no rehearsal, which is a private copy that is gone in a moment. */
export type RowWriting = { isKept: boolean; writeInPlace: <Result>(work: () => Result) => Result }

/** Runs `work` on one snapshot of the file. */
export function readTransaction<Result>(db: Connection, file: string, work: () => Result): Result {
  try {
    return db.transaction(work).deferred()
  } catch (error) {
    throw sqliteError(error, file)
  }
}

/** The damage that SQLite finds when it reads the whole file. */
export function findDamage(db: Connection): string[] {
  const found = db.prepare<[], string>('PRAGMA integrity_check(10)').pluck().all()
  return found.filter((line) => line !== 'ok')
}

/** SQLite gives its `-wal` and `-shm` files the mode of the main file, so the main file is created first, with its mode. */
function createPrivately(file: string): void {
  makeFolder(dirname(file))
  if (isMissing(file)) closeSync(openSync(file, 'a', 0o600))
}

function openChecked(file: string, access: 'read' | 'write', busyMs = BUSY_TIMEOUT_MS): Connection {
  const before = identityOf(file)
  const db = access === 'read' ? openReadOnly(file, busyMs).db : connect(file, { fileMustExist: true, timeout: busyMs })
  try {
    requireMirror(db, file)
    // Only what writes makes a mirror of an empty file: one that lost its content is no mirror without customers.
    if (access === 'read' && isEmpty(db)) throw noMirror(file)
    db.pragma(`cache_size = -${CACHE_KB}`)
    if (access === 'write') {
      makePrivate(file)
      db.pragma('journal_mode = WAL')
      db.pragma('synchronous = NORMAL')
      // A restore may have had the old file locked until a moment ago. From here on it finds this one in use.
      if (identityOf(file) !== before) throw replacedMeanwhile(file)
      db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      db.pragma(`cache_spill = ${CHANGED_PAGES}`)
      const complete = () => {
        if (isEmpty(db)) makeSchema(db)
        // Another version may have written it while this one waited for the write lock.
        requireVersion(db, file)
        // A backup that was put back by hand is a mirror from now on.
        db.exec('DROP TABLE IF EXISTS backup_mark')
        fingerprintKey(db)
        writeDictionary(db)
      }
      db.transaction(complete).immediate()
    }
    return db
  } catch (error) {
    db.close()
    // SQLite finds out by itself when it writes, and only says that it may not.
    throw identityOf(file) === before ? error : replacedMeanwhile(file)
  }
}

function replacedMeanwhile(file: string): MirrorUnusable {
  return new MirrorUnusable(
    `${file}: was replaced by another file while it was opened. Nothing was written; try again.`,
    {
      code: 'replaced',
    },
  )
}

/** Makes a mirror that others could read private again, with its `-wal` and `-shm`. */
function makePrivate(file: string): void {
  for (const name of [file, `${file}-wal`, `${file}-shm`]) if (!isMissing(name)) chmodSync(name, 0o600)
}

/** Throws MirrorUnusable unless the file holds nothing, or a mirror that this program can read. */
function requireMirror(db: Connection, file: string): void {
  const applicationId = Number(db.pragma('application_id', { simple: true }))
  if (applicationId !== APPLICATION_ID && !(applicationId === 0 && isEmpty(db))) {
    throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
  }
  if (versionOf(db) === 0 && isEmpty(db)) return
  requireVersion(db, file)
  requireWhole(db, file)
}

/** Writes what each public column holds into the mirror, where it differs. The caller holds the transaction. */
function writeDictionary(db: Connection): void {
  const rows = PUBLIC_TABLES.flatMap(({ name, columns }) =>
    columns.map((column) => [
      ...[name, column.name, column.type, column.meaning, column.source],
      ...[Number(column.nullable), Number(column.personal)],
    ]),
  )
  const stored = statement<[], unknown[]>(db, 'SELECT * FROM dictionary ORDER BY rowid').raw().all()
  if (JSON.stringify(stored) === JSON.stringify(rows)) return
  db.exec('DELETE FROM dictionary')
  const insert = statement<[readonly unknown[]], never>(db, 'INSERT INTO dictionary VALUES (?, ?, ?, ?, ?, ?, ?)')
  for (const row of rows) insert.run(row)
}
