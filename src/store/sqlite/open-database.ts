import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, openSync, realpathSync, statSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { MirrorUnusable } from '../../errors/errors.ts'
import { mirrorFault, noMirror } from '../../errors/faults.ts'
import { giveToOwner, isMissing, makeFolder } from '../../machine/folders.ts'
import { KEY_BYTES } from '../../model/fingerprint.ts'
import type { Standing } from '../../model/mirror.ts'
import { fileError, meddledWith, reshapedIn, sqliteError, virtualTablesIn } from '../port/sqlite-errors.ts'
import { replaced } from '../refusals.ts'
import { dictionary, incomplete, namesIn, otherVersion, SQLITE_SCHEMA, VERSION } from '../schema/schema.ts'
import { BUSY_TIMEOUT_MS, connect, type Connection, connectToRead } from './connect.ts'

/** The WAL, in pages of 4 KB, at which it is copied: seldom, and yet so short that other runs and health checks can wait. */
const CHECKPOINT_PAGES = 4096

/** The page cache, in KB: with twice as much, no night of a hundred thousand customers or of two hundred organizations is faster. */
export const CACHE_KB = 4_000

/** The changed pages of 4 KB before SQLite writes some, and perhaps again: enough for a night in which a thousand customers came or went. */
const CHANGED_PAGES = 4_096

/** Opens the mirror at `file`, made there to write if there is none; waits for `busyMs`. Throws MirrorUnusable without having changed anything. */
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
    makeFingerprintKey(db)
  })()
  return db
}

/** The damage that SQLite finds when it reads the whole file, but for what a virtual table that someone added says of itself. */
export function findDamage(db: Connection): string[] {
  const found = db.prepare<[], string>('PRAGMA integrity_check(10)').pluck().all()
  const virtual = virtualTablesIn(db)
  return found.filter((line) => line !== 'ok' && !virtual.some((name) => line.includes(name)))
}

/** SQLite gives its `-wal` and `-shm` files the mode of the main file, so the main file is created first, with its mode. */
function createPrivately(file: string): void {
  makeFolder(dirname(file))
  if (!isMissing(file)) return
  closeSync(openSync(file, 'a', 0o600))
  giveToOwner(file)
}

function openChecked(file: string, access: 'read' | 'write', busyMs: number): Connection {
  const before = fileIdentity(file)
  const db = access === 'read' ? connectToRead(file, busyMs) : connect(file, { fileMustExist: true, timeout: busyMs })
  try {
    // In one look, since another program may make a mirror of the empty file meanwhile.
    db.transaction(() => requireMirror(db, file))()
    // Only what writes makes a mirror of an empty file: one that lost its content is no mirror without customers.
    if (access === 'read' && isEmpty(db)) throw noMirror(file)
    db.pragma(`cache_size = -${CACHE_KB}`)
    if (access === 'write') {
      makePrivate(file)
      db.pragma('journal_mode = WAL')
      db.pragma('synchronous = NORMAL')
      // A restore may have had the old file locked until a moment ago. From here on it finds this one in use.
      if (fileIdentity(file) !== before) throw replacedMeanwhile(file)
      db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      db.pragma(`cache_spill = ${CHANGED_PAGES}`)
      const complete = () => {
        if (isEmpty(db)) makeSchema(db)
        // Another version may have written it while this one waited for the write lock.
        requireVersion(db, file)
        // A backup that was put back by hand is a mirror from now on.
        db.exec('DROP TABLE IF EXISTS backup_mark')
        makeFingerprintKey(db)
      }
      db.transaction(complete).immediate()
    }
    return db
  } catch (thrown) {
    const error = sqliteError(thrown, file, db)
    db.close()
    // SQLite finds out by itself when it writes, and only says that it may not.
    throw fileIdentity(file) === before ? error : replacedMeanwhile(file)
  }
}

function replacedMeanwhile(file: string): MirrorUnusable {
  const said = 'was replaced by another file while it was opened. Nothing was written; try again.'
  return new MirrorUnusable(`${file}: ${said}`, { code: 'replaced' })
}

function makePrivate(file: string): void {
  for (const name of [file, `${file}-wal`, `${file}-shm`])
    if (!isMissing(name)) chmodSync(name, statSync(name).mode & 0o700)
}

/** Throws MirrorUnusable unless the file holds nothing, or a mirror that this program can read. */
function requireMirror(db: Connection, file: string): void {
  const applicationId = Number(db.pragma('application_id', { simple: true }))
  if (applicationId !== APPLICATION_ID && !(applicationId === 0 && isEmpty(db))) {
    throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
  }
  if (versionOf(db) === 0 && isEmpty(db)) return
  requireVersion(db, file)
  requireWholeSchema(db, file)
}

/** `CMIR`: identifies the SQLite file, also for the command `file`. */
export const APPLICATION_ID = 0x434d4952

function makeSchema(db: Connection): void {
  db.exec(SQLITE_SCHEMA)
  db.exec(dictionary('sqlite'))
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma(`user_version = ${VERSION}`)
}

/** Where it was deleted, too: then no fingerprint matches, which does no harm. */
function makeFingerprintKey(db: Connection): void {
  db.prepare('INSERT INTO fingerprint_key (id, key) VALUES (1, ?) ON CONFLICT DO NOTHING').run(randomBytes(KEY_BYTES))
}

/** Throws MirrorUnusable `version` for a mirror that another version of this program made. */
export function requireVersion(db: Connection, file: string): void {
  const version = versionOf(db)
  if (version !== VERSION) throw otherVersion(file, version)
}

/** Throws MirrorUnusable for a mirror of which someone dropped a table, a view or a trigger (`damaged`), or gave it another shape (`foreign`). */
export function requireWholeSchema(db: Connection, file: string): void {
  const schema = db
    .prepare<[], string>('SELECT json_group_array(json_array(name, sql)) FROM sqlite_schema')
    .pluck()
    .get()
  if (WHOLE.has(schema)) return
  const lacking = missingIn(db)
  if (lacking.length > 0) throw incomplete(file, lacking)
  const reshaped = reshapedIn(db)
  if (reshaped !== undefined) throw meddledWith(file, reshaped)
  WHOLE.add(schema)
}

/** What this process found whole before, of any file. To look through it takes longer than to open the file. */
const WHOLE = new Set<string | undefined>()

/** Whether this program can read all of the mirror. */
export function isWhole(db: Connection): boolean {
  return versionOf(db) === VERSION && missingIn(db).length === 0
}

export function isEmpty(db: Connection): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
}

/** The `user_version` of the file: 0 in one that is new. */
function versionOf(db: Connection): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function missingIn(db: Connection): string[] {
  const held = new Set(db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all())
  return NAMES.filter((name) => !held.has(name))
}

const NAMES = namesIn(SQLITE_SCHEMA)

/** The open file of a mirror, even if its path leads elsewhere by now. */
export type OpenFile = ReturnType<typeof openFile>

/** The file at `file`, which was just opened; links are followed, as in SQLite. */
export function openFile(file: string) {
  const opened = fileIdentity(file)
  const real = realpathSync.native(file)
  const journals = ['-wal', '-shm'].map((suffix) => ({ path: real + suffix, identity: fileIdentity(real + suffix) }))
  const standing = (): Standing => {
    const found = fileIdentity(file)
    if (found === undefined) return 'none'
    return found === opened ? 'same' : 'another'
  }
  return {
    standing,
    /** Throws MirrorUnusable `replaced` when the path no longer leads to the open file. */
    requireInPlace() {
      const found = standing()
      if (found !== 'same') throw replaced(file, found)
    },
    /** Before the connection is closed: the WAL of a replaced file is copied into it and removed; SQLite would use it for the new file. */
    letGo(db: Connection) {
      // If a link leads elsewhere now, the file is still at its place, and its WAL too.
      if (fileIdentity(real) === opened) return
      try {
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch {
        // Another program reads the old file; the last writes stay in the WAL, which that program has open too.
      }
      for (const { path, identity } of journals)
        if (identity !== undefined && fileIdentity(path) === identity) unlinkSync(path)
    },
  }
}

function fileIdentity(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? undefined : `${found.dev}:${found.ino}`
  } catch (error) {
    throw fileError(error, path)
  }
}

/** Throws MirrorUnusable unless `file`, which is there, is a regular file. Opens nothing: a pipe would be waited for without end. */
export function requireRegularFile(file: string): void {
  const found = statSync(file)
  if (found.isFile()) return
  throw mirrorFault(file, { fault: 'foreign', said: found.isDirectory() ? 'is a folder' : 'is a pipe or a device' })
}
