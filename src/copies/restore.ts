import { realpathSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { MirrorUnusable } from '../errors/errors.ts'
import { mirrorFault, seenIn } from '../errors/faults.ts'
import { isMissing, makeFolder } from '../machine/folders.ts'
import { carryInto } from '../store/carry-over.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqlTime } from '../store/port/sql.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { type Clocks, requireNoLease } from '../store/runs/lease.ts'
import { connect, type Connection } from '../store/sqlite/connect.ts'
import { isWhole, requireRegularFile } from '../store/sqlite/open-database.ts'
import { isMirror, lookBeside, openToRead } from '../store/sqlite/open-to-read.ts'
import { copyChecked, isDamage, markIn } from './backup.ts'
import { nameOfReplaced, replaceKeeping } from './older-files.ts'
import { isSame, refused } from './target-place.ts'
import { removeFile, writeFor } from './written-file.ts'

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
  // Its place is not the name of a link to it.
  const mirror = isMissing(plan.mirror) ? plan.mirror : lookBeside(plan.mirror, () => realpathSync(plan.mirror))
  const source = openToRead(file, { asMade: true })
  let locked: Connection | undefined
  try {
    const noBackup =
      'is a copy for readers, which lacks what runs need. Name a backup; without one, move the mirror away and sync anew.'
    if (!isMirror(source)) throw new MirrorUnusable(`${file}: ${noBackup}`, { code: 'foreign' })
    if (isSame(file, mirror)) throw refused(file, 'is the mirror itself. Name the backup that shall take its place')
    locked = await lockMirror(mirror, plan.force, clocks)
    makeFolder(dirname(mirror))
    const unsound = (what: string) => {
      const said = `is damaged, or a disk failed while it was read (${what}). ${AS_IT_WAS} Check the disk, or name an older backup.`
      return new MirrorUnusable(`${file}: ${said}`, { code: 'damaged' })
    }
    return await writeFor(mirror, async (unfinished) => {
      await copyChecked(source, unfinished.path, { signal, unsound })
      const carried = await carryInto(unfinished.path, locked, clocks.nowMs)
      const older = nameOfReplaced(mirror, sqlTime(clocks.nowMs))
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

/** Locks the mirror, which no program may have open, and merges its WAL. Undefined without one, or with `force` for a damaged one. */
async function lockMirror(file: string, force: boolean, clocks: Clocks): Promise<Connection | undefined> {
  if (isMissing(file)) return undefined
  requireRegularFile(file)
  if (statSync(file).size === 0) return undefined
  let db = connect(file, { fileMustExist: true, timeout: 500 })
  try {
    // Without this, SQLite would make the files of a WAL beside it before it looks whether it is alone.
    db.pragma('locking_mode = EXCLUSIVE')
    if (!isMirror(db)) throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
    // No other program has the file open: one of another machine may all the same be in the middle of a run.
    if (isWhole(db)) await requireNoLease(sqliteSession(db), 'restored', clocks)
    db.pragma('journal_mode = DELETE')
    // Until it is closed, SQLite has a journal beside it.
    db.close()
    db = connect(file, { fileMustExist: true, timeout: 500 })
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    const isDamaged = isDamage(error)
    if (isDamaged && force) return undefined
    if (!isDamaged && seenIn(error)?.fault !== 'busy') throw error
    const said = isDamaged ? TOO_DAMAGED : 'a worker, a command or a reader has the mirror open'
    throw mirrorFault(file, { fault: 'busy', said }, { kept: 'Nothing was restored.', cause: error })
  }
}

const TOO_DAMAGED =
  'is too damaged to show whether a program has it open, or its disk failed. Check the disk, stop every program that uses it, then restore with --force'
