import type Database from 'better-sqlite3'
import { closeSync, openSync, readSync } from 'node:fs'
import { APPLICATION_ID } from '../store/sqlite/open-database.ts'

/** `CPUB`: marks a copy published by this program, which it may replace and remove. */
export const COPY_APPLICATION_ID = 0x43505542

/** What SQLite may keep beside a file while it is open. */
export const JOURNALS = ['-journal', '-wal', '-shm'] as const

/** Whether an open file of SQLite says of itself that it is a mirror. */
export function isMirror(db: Database.Database): boolean {
  return Number(db.pragma('application_id', { simple: true })) === APPLICATION_ID
}

/** What a file is, by its first bytes. An empty file holds nothing that could be lost. */
export function kindOfFile(path: string): 'empty' | 'copy' | 'mirror' | 'database' | 'foreign' {
  const header = headerOf(path)
  if (header.length === 0) return 'empty'
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') return 'foreign'
  const applicationId = header.length < HEADER_BYTES ? 0 : header.readUInt32BE(68)
  if (applicationId === COPY_APPLICATION_ID) return 'copy'
  return applicationId === APPLICATION_ID ? 'mirror' : 'database'
}

/** Whether a file of SQLite is in WAL mode, as mirrors are, and copies and backups are not. */
export function hasWal(path: string): boolean {
  const header = headerOf(path)
  return header[18] === 2 || header[19] === 2
}

const HEADER_BYTES = 100

/** The first bytes of a file, which is there: as many as a header has, or all where there are fewer. */
function headerOf(path: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const descriptor = openSync(path, 'r')
  try {
    return header.subarray(0, readSync(descriptor, header, 0, HEADER_BYTES, 0))
  } finally {
    closeSync(descriptor)
  }
}
