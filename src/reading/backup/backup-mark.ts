import Database from 'better-sqlite3'
import { lstatSync } from 'node:fs'
import { connect } from '../../store/sqlite/connect.ts'
import { kindOfFile } from '../file-kind.ts'
import { hasTable } from '../has-table.ts'
import { readHeader } from '../sqlite-header.ts'

/** Marks a file as a backup: one row with the moment of which it is. Whatever opens it to write as a mirror removes the mark. */
const MARK = 'backup_mark'

/** Marks the open mirror as a backup. */
export function markAsBackup(db: Database.Database, takenAt: string): void {
  db.exec(`CREATE TABLE ${MARK} (taken_at DATETIME NOT NULL)`)
  db.prepare(`INSERT INTO ${MARK} (taken_at) VALUES (?)`).run(takenAt)
}

/** The moment of which the open file is a backup; undefined for a mirror that is none, or that was written since. */
export function markIn(db: Database.Database): string | undefined {
  if (!hasTable(db, MARK)) return undefined
  return db.prepare<[], string>(`SELECT taken_at FROM ${MARK}`).pluck().get()
}

/** The moment of which the file at `path` is a backup; undefined for every other file. Nothing is made beside it. */
export function backupTakenAt(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  if (kindOfFile(path) !== 'mirror' || hasWal(path)) return undefined
  try {
    const db = connect(path, { readonly: true, fileMustExist: true })
    try {
      return markIn(db)
    } finally {
      db.close()
    }
  } catch {
    // Damaged: not to be taken for a backup.
    return undefined
  }
}

/** Whether the file is in WAL mode, as mirrors are and backups are not. */
function hasWal(path: string): boolean {
  const header = readHeader(path)
  return header[18] === 2 || header[19] === 2
}
