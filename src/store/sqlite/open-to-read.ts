import { closeSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { mirrorFault, noMirror } from '../../errors/faults.ts'
import { isMissing } from '../../machine/folders.ts'
import { fileError } from '../port/sqlite-errors.ts'
import { type Connection, connectToRead } from './connect.ts'
import {
  APPLICATION_ID,
  isEmpty,
  openDatabase,
  requireRegularFile,
  requireVersion,
  requireWholeSchema,
} from './open-database.ts'

/**
 * Opens the mirror or copy at `file`, an absolute path, and changes neither it nor its folder. Throws MirrorUnusable; `asMade` also for a mirror
 * of which a table or a view was dropped or got another shape, which a statement of a user may still read.
 */
export function openToRead(file: string, { asMade = false }: { asMade?: boolean } = {}): Connection {
  if (isMissing(file)) throw noMirror(file)
  let db: Connection | undefined
  try {
    requireRegularFile(file)
    db = connectToRead(file)
    db.defaultSafeIntegers()
    for (const setting of ['query_only = ON', 'trusted_schema = OFF', 'cache_size = -16000']) db.pragma(setting)
    if (isEmpty(db)) throw noMirror(file)
    if (isMirror(db)) requireVersion(db, file)
    else if (applicationOf(db) !== COPY_APPLICATION_ID)
      throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
    if (asMade && isMirror(db)) requireWholeSchema(db, file)
    return db
  } catch (error) {
    db?.close()
    throw fileError(error, file)
  }
}

/** What `read` finds in the mirror at `file`. Throws MirrorUnusable for one that cannot be read. */
export function inMirrorFile<Result>(file: string, read: (db: Connection) => Result): Result {
  const db = openDatabase(file, 'read')
  try {
    return read(db)
  } finally {
    db.close()
  }
}

/** Does work that looks for files beside `file`. A folder that cannot be looked through is a MirrorUnusable, which names it. */
export function lookBeside<Result>(file: string, look: () => Result): Result {
  try {
    return look()
  } catch (error) {
    throw fileError(error, dirname(file))
  }
}

/** Whether the open file itself, not one attached to it, has a table or view of this name. */
export function hasTable(db: Connection, name: string): boolean {
  return db.prepare('SELECT 1 FROM main.sqlite_schema WHERE name = ?').get(name) !== undefined
}

export function numberIn(db: Connection, statement: string, ...values: unknown[]): number {
  const pick = db.prepare(statement).pluck()
  return Number(pick.get(...values))
}

export function nowIn(db: Connection): string {
  return db.prepare<[], string>(`SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')`).pluck().get() ?? ''
}

/** For a file that is worth nothing until it is finished: nothing waits for the disk, and no row is checked before the end. */
export function writeWithoutWaiting(db: Connection): void {
  db.pragma('main.journal_mode = MEMORY')
  db.pragma('main.synchronous = OFF')
  db.pragma('foreign_keys = OFF')
}

/** `CPUB`: marks a copy published by this program, which it may replace and remove. */
export const COPY_APPLICATION_ID = 0x43505542

/** What SQLite may keep beside a file while it is open. */
export const JOURNALS = ['-journal', '-wal', '-shm'] as const

/** Whether an open file of SQLite says of itself that it is a mirror. */
export function isMirror(db: Connection): boolean {
  return applicationOf(db) === APPLICATION_ID
}

function applicationOf(db: Connection): number {
  return Number(db.pragma('application_id', { simple: true }))
}

const HEADER_BYTES = 100

/** What a file is, by its first bytes; an empty one holds nothing that could be lost. Mirrors are in WAL mode; copies and backups are not. */
export function kindOfFile(path: string): 'empty' | 'copy' | 'mirror' | 'backup' | 'database' | 'foreign' {
  const header = Buffer.alloc(HEADER_BYTES)
  const descriptor = openSync(path, 'r')
  try {
    if (readSync(descriptor, header, 0, HEADER_BYTES, 0) === 0) return 'empty'
  } finally {
    closeSync(descriptor)
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') return 'foreign'
  const applicationId = header.readUInt32BE(68)
  if (applicationId === COPY_APPLICATION_ID) return 'copy'
  if (applicationId !== APPLICATION_ID) return 'database'
  return header[18] === 2 || header[19] === 2 ? 'mirror' : 'backup'
}

/** The last number that was given to a row of a table, also where that row was deleted; 0 where there was none. */
export function lastNumber(db: Connection, table: string): number {
  return numberIn(db, 'SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)', table)
}

export function continueAfter(db: Connection, table: string, seq: number): void {
  db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table)
  db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(table, seq)
}
