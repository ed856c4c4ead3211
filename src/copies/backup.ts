import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Interrupted, MirrorUnusable } from '../errors/errors.ts'
import { isOfSqlite, mirrorFault, seenIn } from '../errors/faults.ts'
import { makeFolder } from '../machine/folders.ts'
import { closing } from '../store/mirror.ts'
import { sqlTime } from '../store/port/sql.ts'
import { connect, type Connection } from '../store/sqlite/connect.ts'
import { findDamage } from '../store/sqlite/open-database.ts'
import { hasTable, isMirror, kindOfFile, numberIn, openToRead } from '../store/sqlite/open-to-read.ts'
import { copyError } from './copy-error.ts'
import { ifReadable, nameToKeep, removeTooMany, replaceKeeping } from './older-files.ts'
import { refused, requireNoJournals, requireOwnFolder, requirePlace } from './target-place.ts'
import { writeFor } from './written-file.ts'

export type BackupPlan = {
  mirror: string
  file: string
  /** How many backups there may be, `file` among them; undefined leaves older ones alone. */
  keep: number | undefined
}

/** Makes a checked backup of one state of the mirror, while runs go on. Throws UsageError for its target, MirrorUnusable, CopyFailed, Interrupted. */
export async function makeBackup(
  { file, mirror, keep }: BackupPlan,
  { nowMs, signal }: { nowMs: number; signal: AbortSignal },
) {
  return closing(openToRead(mirror), async (source) => {
    const noMirror = 'is a copy for readers, not a mirror. Name the mirror in the configuration.'
    if (!isMirror(source)) throw new MirrorUnusable(`${mirror}: ${noMirror}`, { code: 'foreign' })
    requirePlace(file, mirror)
    requireOwnFolder(dirname(file), 'backup')
    requireNoJournals(file)
    const isFree = (lstatSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0
    const notOurs =
      'is there already, and is not a backup made by this command. It was left as it is; name another file'
    if (!isFree && backupTakenAt(file) === undefined) throw refused(file, notOurs)
    makeFolder(dirname(file))
    const takenAt = sqlTime(nowMs)
    return writeFor(file, async ({ path, place }) => {
      const kept = 'No backup was made, and those from before were left as they are.'
      const unsound = (said: string) => mirrorFault(mirror, { fault: 'damaged', said }, { kept })
      const customers = await copyChecked(source, path, { signal, unsound, takenAt })
      const bytes = statSync(path).size
      const replaced = keep !== undefined && keep > 1 ? nameToKeep(file, backupTakenAt(file)) : undefined
      replaceKeeping(file, replaced, place)
      const isBackup = (older: string) => backupTakenAt(older) !== undefined
      const removed = keep === undefined ? [] : removeTooMany({ file, at: takenAt, replaced, most: keep - 1 }, isBackup)
      return { file, takenAt, bytes, customers, removed }
    })
  }).catch((error: unknown) => {
    throw copyError(error, file)
  })
}

/** Pages copied at a time, 16 MB: between two steps the process takes signals. */
const PAGES_AT_ONCE = 4096

/** Copies one state of a mirror to `path` without leases, and reads it again. Returns its customers. Throws `unsound`, Interrupted. */
export async function copyChecked(
  source: Connection,
  path: string,
  { signal, unsound, takenAt }: { signal: AbortSignal; unsound: (what: string) => Error; takenAt?: string },
) {
  const progress = () => {
    if (signal.aborted) throw new Interrupted('Stopped as asked. Nothing was changed.')
    return PAGES_AT_ONCE
  }
  // Without it, SQLite would begin anew after every write of another process.
  source.exec('BEGIN')
  try {
    await source.backup(path, { progress })
    return await closing(connect(path, { fileMustExist: true }), async (copy) => {
      copy.pragma('journal_mode = DELETE')
      const [damage] = findDamage(copy)
      if (damage !== undefined) throw unsound(damage)
      copy.exec('BEGIN; DELETE FROM leases')
      if (takenAt !== undefined) {
        copy.exec(`CREATE TABLE ${MARK} (taken_at DATETIME NOT NULL)`)
        copy.prepare(`INSERT INTO ${MARK} (taken_at) VALUES (?)`).run(takenAt)
      }
      copy.exec('COMMIT')
      progress()
      return numberIn(copy, 'SELECT COUNT(*) FROM customers')
    })
  } catch (error) {
    throw isDamage(error) ? unsound(error.message) : error
  } finally {
    source.exec('ROLLBACK')
  }
}

export function isDamage(error: unknown): error is Error {
  return isOfSqlite(error) && ['damaged', 'foreign'].includes(seenIn(error)?.fault ?? '')
}

/** Marks a file as a backup: one row with the moment of which it is. Whatever opens it to write as a mirror removes the mark. */
const MARK = 'backup_mark'

/** The moment of which the open file is a backup; undefined for a mirror that is none, or that was written since. */
export function markIn(db: Connection): string | undefined {
  return hasTable(db, MARK) ? db.prepare<[], string>(`SELECT taken_at FROM ${MARK}`).pluck().get() : undefined
}

/** The moment of which the file at `path` is a backup; undefined where there is another file, or none. */
function backupTakenAt(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  // A damaged one is not to be taken for a backup.
  return kindOfFile(path) === 'backup' ? ifReadable(path, markIn) : undefined
}
