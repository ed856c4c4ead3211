import type Database from 'better-sqlite3'
import { APPLICATION_ID } from '../store/sqlite/open-database.ts'
import { HEADER_BYTES, isOfSqlite, readHeader } from './sqlite-header.ts'

/** `CPUB`: marks a copy published by this program, which it may replace and remove. */
export const COPY_APPLICATION_ID = 0x43505542

/** Whether an open file of SQLite says of itself that it is a mirror. */
export function isMirror(db: Database.Database): boolean {
  return Number(db.pragma('application_id', { simple: true })) === APPLICATION_ID
}

/** What a file is, by its first bytes. An empty file holds nothing that could be lost. */
export function kindOfFile(path: string): 'empty' | 'copy' | 'mirror' | 'foreign' {
  const header = readHeader(path)
  if (header.length === 0) return 'empty'
  if (header.length < HEADER_BYTES || !isOfSqlite(header)) return 'foreign'
  const applicationId = header.readUInt32BE(68)
  if (applicationId === COPY_APPLICATION_ID) return 'copy'
  return applicationId === APPLICATION_ID ? 'mirror' : 'foreign'
}
