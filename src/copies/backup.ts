import { lstatSync, realpathSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Interrupted, isOurs, MirrorUnusable } from '../errors/errors.ts'
import { isOfSqlite, mirrorFault, seenIn } from '../errors/faults.ts'
import { isMissing, makeFolder } from '../machine/folders.ts'
import { carryInto } from '../store/carry-over.ts'
import { closing } from '../store/mirror.ts'
import { sqlTime } from '../store/port/sql.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { type Clocks, requireNoLease } from '../store/runs/lease.ts'
import { connect, type Connection } from '../store/sqlite/connect.ts'
import { findDamage, isWhole, requireRegularFile } from '../store/sqlite/open-database.ts'
import { hasTable, isMirror, kindOfFile, lookBeside, numberIn, openToRead } from '../store/sqlite/open-to-read.ts'
import { copyError } from './copy-error.ts'
import { ifReadable, nameToKeep, olderName, removeTooMany, replacedName, replaceKeeping } from './older-files.ts'
import { isSameFile, refused, requireNoJournals, requireOwnFolder, requirePlace } from './target-place.ts'
import { removeFile, writeFor } from './written-file.ts'

export type BackupPlan = {
  mirror: string
  file: string
  /** How many backups there may be, `file` among them; undefined leaves older ones alone. */
  keep: number | undefined
}

/** Makes a checked backup of one state of the mirror, while runs go on. Throws UsageError for its target, MirrorUnusable, CopyFailed, Interrupted. */
export async function makeBackup(plan: BackupPlan, { nowMs, signal }: { nowMs: number; signal: AbortSignal }) {
  const { file, mirror, keep } = plan
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

export type RestorePlan = {
  mirror: string
  file: string
  /** Whether a mirror is replaced that is too damaged to find out if a program has it open. */
  force: boolean
}

/** What was restored: `takenAt` is undefined for a backup that another program made, and `kept`, the name of the replaced mirror, where there was none. */
export type Restored = Awaited<ReturnType<typeof restoreMirror>>

/**
 * Puts a backup in the place of the mirror, once all of it was read and found whole; the mirror that was there is locked meanwhile, and kept beside
 * it. Throws UsageError, MirrorUnusable, CopyFailed during another restore, OrganizationLeased during a run, Interrupted; nothing is changed then.
 */
export async function restoreMirror(plan: RestorePlan, { signal, ...clocks }: Clocks & { signal: AbortSignal }) {
  const { file } = plan
  if (isMissing(file)) throw refused(file, 'there is no such file. Name a backup')
  const found = statSync(file)
  if (found.isFile() && found.size === 0) throw refused(file, 'is empty. Name a backup that was made to its end')
  // Its place is not the name of a link to it.
  const mirror = isMissing(plan.mirror) ? plan.mirror : lookBeside(plan.mirror, () => realpathSync(plan.mirror))
  const source = openToRead(file, { asMade: true })
  let locked: Connection | undefined
  try {
    const noBackup =
      'is a copy for readers, which lacks what runs need. Name a backup; without one, move the mirror away and sync anew.'
    if (!isMirror(source)) throw new MirrorUnusable(`${file}: ${noBackup}`, { code: 'foreign' })
    if (isSameFile(file, mirror)) throw refused(file, 'is the mirror itself. Name the backup that shall take its place')
    locked = await lockMirror(mirror, plan.force, clocks)
    makeFolder(dirname(mirror))
    const unsound = (what: string) => {
      const said = `is damaged, or a disk failed while it was read (${what}). ${AS_IT_WAS} Check the disk, or name an older backup.`
      return new MirrorUnusable(`${file}: ${said}`, { code: 'damaged' })
    }
    return await writeFor(mirror, async (unfinished) => {
      await copyChecked(source, unfinished.path, { signal, unsound })
      const carried = await carryInto(unfinished.path, locked, clocks.nowMs)
      const older = olderName(replacedName(mirror), sqlTime(clocks.nowMs))
      const kept = isMissing(mirror) ? undefined : older
      replaceKeeping(mirror, kept, () => {
        removeFile(`${mirror}-shm`)
        // What lies beside a mirror that is gone, or damaged, would be taken for the WAL of the new one.
        for (const ending of ['-journal', '-wal'])
          if (!isMissing(mirror + ending)) renameSync(mirror + ending, older + ending)
        unfinished.place()
      })
      return { mirror: plan.mirror, file, takenAt: markIn(source), kept, ...carried }
    })
  } catch (error) {
    const seen = seenIn(error)
    if (seen === undefined) throw fileError(error, mirror)
    throw mirrorFault(mirror, seen, { kept: AS_IT_WAS, cause: error })
  } finally {
    locked?.close()
    source.close()
  }
}

const AS_IT_WAS = 'Nothing was restored; the mirror is as it was.'

/** Locks a mirror, merges its WAL. Undefined without one, or by `force` for a damaged one. Throws MirrorUnusable, OrganizationLeased. */
async function lockMirror(file: string, force: boolean, clocks: Clocks): Promise<Connection | undefined> {
  if (isMissing(file)) return undefined
  requireRegularFile(file)
  if (statSync(file).size === 0) return undefined
  const open = () => connect(file, { fileMustExist: true, timeout: 500 })
  let db = open()
  try {
    // Without this, SQLite would make the files of a WAL beside it before it looks whether it is alone.
    db.pragma('locking_mode = EXCLUSIVE')
    if (!isMirror(db)) throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
    // No other program has the file open: one of another machine may all the same be in the middle of a run.
    if (isWhole(db)) await requireNoLease(sqliteSession(db), 'restored', clocks)
    db.pragma('journal_mode = DELETE')
    // Until it is closed, SQLite has a journal beside it.
    db.close()
    db = open()
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    const isDamaged = isDamage(error)
    if (isDamaged && force) return undefined
    if (!isDamaged && seenIn(error)?.fault !== 'busy') throw error
    // A run is to be waited for; what else has it open is to be stopped.
    if (!isDamaged)
      await closing(open(), (opened) => requireNoLease(sqliteSession(opened), 'restored', clocks)).catch(
        (leased: unknown) => {
          if (isOurs(leased)) throw leased
        },
      )
    const said = isDamaged ? TOO_DAMAGED : 'a worker, a command or a reader has the mirror open'
    throw mirrorFault(file, { fault: 'busy', said }, { kept: 'Nothing was restored.', cause: error })
  }
}

const TOO_DAMAGED =
  'is too damaged to show whether a program has it open, or its disk failed. Check the disk, stop every program that uses it, then restore with --force'

/** Pages copied at a time, 16 MB: between two steps the process takes signals. */
const PAGES_AT_ONCE = 4096

type Checking = { signal: AbortSignal; unsound: (what: string) => Error; takenAt?: string }

/** Copies one state to `path`, without leases, marked by `takenAt`; reads and counts its customers. Throws `unsound`, Interrupted. */
async function copyChecked(source: Connection, path: string, { signal, unsound, takenAt }: Checking) {
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

function isDamage(error: unknown): error is Error {
  return isOfSqlite(error) && ['damaged', 'foreign'].includes(seenIn(error)?.fault ?? '')
}

/** Marks a file as a backup: one row with the moment of which it is. Whatever opens it to write as a mirror removes the mark. */
const MARK = 'backup_mark'

/** The moment of which the open file is a backup; undefined for a mirror that is none, or that was written since. */
function markIn(db: Connection): string | undefined {
  return hasTable(db, MARK) ? db.prepare<[], string>(`SELECT taken_at FROM ${MARK}`).pluck().get() : undefined
}

/** The moment of which the file at `path` is a backup; undefined where there is another file, or none. */
function backupTakenAt(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  return kindOfFile(path) === 'backup' ? ifReadable(path, markIn) : undefined
}
