import { chownSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { isPostgres } from '../address/mirror-address.ts'
import { MirrorUnusable, OrganizationLeased, UsageError } from '../errors/errors.ts'
import { isOfSqlite, mirrorFault, seenIn } from '../errors/faults.ts'
import { isMissing, makeFolder } from '../machine/folders.ts'
import type { Clocks } from '../model/organizations.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { sqlTime } from '../store/port/sql.ts'
import { sqliteSession } from '../store/port/sqlite-store.ts'
import { heldLeases } from '../store/runs/lease.ts'
import { connect, type Connection } from '../store/sqlite/connect.ts'
import { isWhole, requireRegularFile } from '../store/sqlite/open-database.ts'
import { copyChecked, isDamage, markIn } from './backup.ts'
import { carryInto } from './carry-over.ts'
import { LeftUndone } from './copy-error.ts'
import { listOlder, olderName, replaceKeeping } from './older-files.ts'
import { isMirror, lookBeside, openToRead } from './open-to-read.ts'
import { isSame } from './target-place.ts'
import { listUnfinished, removeFile, type Unfinished, writeFor } from './written-file.ts'

export type RestorePlan = {
  mirror: string
  file: string
  /** Whether a mirror is replaced that is too damaged to find out if a program has it open. */
  force: boolean
}

/** What was restored: `takenAt` is undefined for a backup that another program made, and `kept`, the name of the replaced mirror, where there was none. */
export type Restored = Awaited<ReturnType<typeof restoreMirror>>

/**
 * Puts a backup in the place of the mirror, after all of it was read and found whole. The mirror that was there is kept beside it
 * under another name. Throws UsageError and MirrorUnusable, OrganizationLeased for a mirror that a run is writing, and Interrupted
 * after an abort; nothing is changed then.
 */
export async function restoreMirror(plan: RestorePlan, { signal, ...clocks }: Clocks & { signal: AbortSignal }) {
  const { file } = plan
  if (isMissing(file)) throw new UsageError(`${file}: there is no such file. Name a backup.`)
  // Its place is not the name of a link to it.
  const mirror = isMissing(plan.mirror) ? plan.mirror : lookBeside(plan.mirror, () => realpathSync(plan.mirror))
  const locking = { force: plan.force, ...clocks }
  const source = openToRead(file, { asMade: true })
  try {
    if (!isMirror(source.db)) throw new MirrorUnusable(`${file}: ${NO_BACKUP}`, { code: 'foreign' })
    if (isSame(file, mirror))
      throw new UsageError(`${file}: is the mirror itself. Name the backup that shall take its place.`)
    // Before a long copy, and again at its end.
    ;(await lockMirror(mirror, locking))?.close()
    makeFolder(dirname(mirror))
    const unsound = (what: string) =>
      new MirrorUnusable(
        `${file}: is damaged, or a disk failed while it was read (${what}). ${AS_IT_WAS} Check the disk, or name an older backup.`,
        { code: 'damaged' },
      )
    const write = async (unfinished: Unfinished) => {
      await copyChecked(source, unfinished.path, { signal, unsound })
      const restored = await swap(mirror, unfinished, locking)
      return { mirror: plan.mirror, file, takenAt: markIn(source.db), ...restored }
    }
    return await writeFor(mirror, write, { busy: (cause) => inUse(mirror, 'another restore is under way', cause) })
  } catch (error) {
    if (error instanceof LeftUndone) throw mirrorFault(mirror, error.seen, { cause: error })
    const seen = seenIn(error)
    if (seen !== undefined) throw mirrorFault(mirror, seen, { kept: AS_IT_WAS, cause: error })
    throw fileError(error, mirror)
  } finally {
    source.close()
  }
}

const NO_BACKUP =
  'is a copy for readers, which lacks what runs need. Name a backup; without one, move the mirror away and sync anew.'

const AS_IT_WAS = 'Nothing was restored; the mirror is as it was.'

function inUse(mirror: string, what: string, cause: unknown): MirrorUnusable {
  return mirrorFault(mirror, { fault: 'busy', said: `${what}. Nothing was restored` }, { cause })
}

type Locking = Clocks & { force: boolean }

/**
 * Locks the mirror at `file` against every other program: SQLite grants that only while none has it open, and a run, a worker and
 * a reader hold a lock of their own from the first moment to the last. Its WAL is merged into it and removed, so that nothing of it
 * is left that SQLite could take for the WAL of the file that follows. Undefined where there is no file, or where it is too damaged to be locked
 * and `force` is given. Throws MirrorUnusable `busy` for any program that has the file open, and OrganizationLeased for a run that has a lease.
 */
async function lockMirror(file: string, { force, ...clocks }: Locking): Promise<Connection | undefined> {
  if (isMissing(file)) return undefined
  requireRegularFile(file)
  if (statSync(file).size === 0) return undefined
  let db: Connection | undefined
  try {
    db = connect(file, { fileMustExist: true, timeout: 500 })
    // Without this, SQLite would make the files of a WAL beside it before it looks whether it is alone.
    db.pragma('locking_mode = EXCLUSIVE')
    if (!isMirror(db)) throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
    // No other program has the file open: one of another machine may all the same be in the middle of a run.
    const [held] = isWhole(db) ? await heldLeases(sqliteSession(db), clocks) : []
    if (held !== undefined)
      throw new OrganizationLeased(
        `${file}: run ${held.run_id} of ${held.organization} is writing it. Nothing was restored. Stop the worker and every sync, then ` +
          'restore again; a run that died is given up after a minute.',
      )
    db.pragma('journal_mode = DELETE')
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db?.close()
    if (isDamage(error) && force) return undefined
    if (isDamage(error)) throw new MirrorUnusable(`${file}: ${UNLOCKABLE}`, { code: 'busy' }, { cause: error })
    if (!isOfSqlite(error) || seenIn(error)?.fault !== 'busy') throw fileError(error, file)
    throw inUse(file, 'a worker, a command or a reader has the mirror open', error)
  }
}

const UNLOCKABLE =
  'is so damaged that SQLite cannot lock it, or its disk failed, so nothing shows whether a program still has it open. Check the disk, and stop ' +
  'every program that uses the mirror, then restore with --force.'

/**
 * The moment of the exchange. The replaced file gets its second name first, so that there is a mirror at its place at any time; the
 * lock on it ends only when it has left its place.
 */
async function swap(mirror: string, { path, place }: Unfinished, locking: Locking) {
  const locked = await lockMirror(mirror, locking)
  try {
    const hadMirror = !isMissing(mirror)
    const carried = await carryInto(path, locked, locking.nowMs)
    // A mirror that root restores belongs to the user who owned the one before, and otherwise to the owner of its folder.
    if (hadMirror && process.getuid?.() === 0) chownSync(path, statSync(mirror).uid, statSync(mirror).gid)
    const kept = olderName(replacedName(mirror), sqlTime(locking.nowMs))
    // What lies beside a mirror that is gone, or damaged, must not be taken for the WAL of the new one.
    const names = ['', '-journal', '-wal'].filter((ending) => !isMissing(mirror + ending))
    const asKept = (ending: string) => ({ file: mirror + ending, kept: kept + ending, isMoved: ending !== '' })
    replaceKeeping(names.map(asKept), () => {
      removeFile(`${mirror}-shm`)
      place()
    })
    return { kept: hadMirror ? kept : undefined, ...carried }
  } finally {
    locked?.close()
  }
}

/**
 * The mirrors that restores have replaced, beside the one at `file`, oldest first, and then what restores and moves left there that were
 * killed; none of a database. Throws MirrorUnusable for a folder that cannot be looked through.
 */
export function replacedMirrors(mirror: string): string[] {
  if (isPostgres(mirror) || isMissing(mirror)) return []
  return lookBeside(mirror, () => {
    const file = realpathSync(mirror)
    return [...listOlder(replacedName(file)), ...listUnfinished(file)]
  })
}

function replacedName(mirror: string): string {
  const ending = extname(mirror)
  return join(dirname(mirror), `${basename(mirror, ending)}-replaced${ending}`)
}
