import Database from 'better-sqlite3'
import { chownSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Interrupted, isOurs, MirrorUnusable, UsageError } from '../../errors/errors.ts'
import { mirrorFault, seenIn } from '../../errors/faults.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { makeFolder } from '../../machine/make-folder.ts'
import type { Clocks } from '../../organizations.ts'
import { markIn } from './backup-mark.ts'
import { carryOver, passLostNumbers } from './carry-over.ts'
import { type Copying, copyMirror, countRows } from './copy-mirror.ts'
import { type LockedMirror, lockMirror } from './lock-mirror.ts'
import { damagedBackup, isDamage, openBackup } from './open-backup.ts'
import { replacedName } from './replaced-mirrors.ts'
import { type UnfinishedFile, withUnfinishedFile } from './unfinished-file.ts'
import { LeftUndone, placedError } from '../files/copy-error.ts'
import { olderName, timeIn } from '../files/dated-name.ts'
import { lock } from '../files/folder-lock.ts'
import {
  giveSecondName,
  moveAside,
  putInPlace,
  removeFile,
  removeIfPossible,
  replacing,
  underItsName,
} from '../files/placed-file.ts'
import { isTheMirror } from '../files/target-place.ts'
import type { OpenedToRead } from '../open-to-read.ts'
import { sqlTime } from '../../store/port/sql-time.ts'
import { connect } from '../../store/sqlite/connect.ts'
import { findDamage } from '../../store/sqlite/open-database.ts'
import { openDatabase } from '../../store/sqlite/open-database.ts'
import { fileError } from '../../store/port/sqlite-errors.ts'
import { purge } from '../../store/sqlite/purge.ts'

export type RestorePlan = {
  mirror: string
  /** The backup, an absolute path. */
  file: string
  /** Whether a mirror is replaced that is too damaged to find out if a program has it open. */
  force: boolean
}

export type Restored = {
  mirror: string
  file: string
  /** The moment of which the backup is; undefined for a backup that another program made. */
  takenAt: string | undefined
  customers: number
  organizations: number
  /** The name that the replaced mirror has now; undefined where there was none. */
  kept: string | undefined
  /** Whether the replaced mirror had changes that the backup lacks, or may have had some: it is gone, unreadable or another one. */
  feedGoesBack: boolean
  /** Customers that were forgotten after the backup and stay so; undefined where there is no replaced mirror that can be read. */
  forgotten: number | undefined
  /** Customers that were forgotten in the replaced mirror under another key, so that the restored one may not know them again. */
  unrecognized: number
  /** Organizations that the replaced mirror did not have; none where it cannot be read. */
  onlyInBackup: string[]
}

/**
 * Puts a backup in the place of the mirror, after all of it was read and found whole. The mirror that was there is kept beside it
 * under another name. Throws UsageError and MirrorUnusable, OrganizationLeased for a mirror that a run is writing, and Interrupted
 * after an abort; nothing is changed then.
 */
export async function restoreMirror(plan: RestorePlan, { signal, onProgress, ...clocks }: Copying & Clocks) {
  const { file } = plan
  if (isMissing(file)) throw new UsageError(`${file}: there is no such file. Name a backup.`)
  const mirror = placeOfMirror(plan)
  const source = openBackup(file)
  try {
    // Before a long copy, and again at its end.
    ;(await lockUnlessDamaged(mirror, plan.force, clocks))?.release()
    makeFolder(dirname(mirror))
    const folder = lockRestore(mirror)
    try {
      return await withUnfinishedFile(mirror, 'restore', async (unfinished) => {
        const takenAt = markIn(source.db)
        const facts = await copyBackup(source, unfinished.path, { file, signal, onProgress })
        if (signal.aborted) throw new Interrupted('Stopped as asked. Nothing was restored.')
        const swapped = await swap(mirror, unfinished, { force: plan.force, ...clocks })
        return { mirror: plan.mirror, file, takenAt, ...facts, ...swapped } satisfies Restored
      })
    } finally {
      folder.release()
    }
  } catch (error) {
    throw restoreError(error, mirror)
  } finally {
    source.close()
  }
}

/** Where the mirror is or will be, which is not the name of a link to it. Throws UsageError for the backup itself, and MirrorUnusable. */
function placeOfMirror({ mirror, file }: RestorePlan): string {
  if (isMissing(mirror)) return mirror
  try {
    if (!isTheMirror(file, mirror)) return realpathSync(mirror)
  } catch (error) {
    throw fileError(error, mirror)
  }
  throw new UsageError(`${file}: is the mirror itself. Name the backup that shall take its place.`)
}

/** Copies the backup, reads all of the copy, and opens it as a mirror. */
async function copyBackup(
  source: OpenedToRead,
  path: string,
  { file, ...copying }: Copying & { file: string },
): Promise<Counted> {
  const expected = await copyMirror(source, path, copying).catch((error: unknown) => {
    throw isDamage(error) ? damagedBackup(file, [error.message]) : error
  })
  const copy = connect(path, { fileMustExist: true })
  try {
    const damage = findDamage(copy)
    if (damage.length > 0 || !isDeepStrictEqual(countRows(copy), expected)) throw damagedBackup(file, damage)
    copy.exec('DELETE FROM leases')
  } catch (error) {
    throw isDamage(error) ? damagedBackup(file, [error.message]) : error
  } finally {
    copy.close()
  }
  const mirror = openCopy(path, file)
  try {
    mirror.pragma('journal_mode = DELETE')
    return countCustomers(mirror)
  } finally {
    mirror.close()
  }
}

/** Its private name says nothing to anyone: errors name the backup in its place. */
function openCopy(path: string, file: string): Database.Database {
  try {
    return openDatabase(path, 'write')
  } catch (error) {
    if (isOurs(error) && seenIn(error.cause)?.fault === 'full') throw error.cause
    throw underItsName(error, { path, file })
  }
}

type Counted = Pick<Restored, 'customers' | 'organizations'>

function countCustomers(db: Database.Database): Counted {
  const count = 'SELECT COUNT(*) AS customers, COUNT(DISTINCT organization) AS organizations FROM customers'
  return db.prepare<[], Counted>(count).get() ?? { customers: 0, organizations: 0 }
}

/** The lock on the mirror; undefined where there is none, or where it is too damaged to be locked and `force` is given. */
async function lockUnlessDamaged(mirror: string, force: boolean, clocks: Clocks): Promise<LockedMirror | undefined> {
  try {
    return await lockMirror(mirror, clocks)
  } catch (error) {
    if (!(error instanceof Error && isDamage(error.cause))) throw error
    if (force) return undefined
    throw new MirrorUnusable(
      `${mirror}: is so damaged that SQLite cannot lock it, or its disk failed, so nothing shows whether a program still has it open. ` +
        'Check the disk, and stop every program that uses the mirror, then restore with --force.',
      { code: 'busy' },
      { cause: error },
    )
  }
}

/**
 * The moment of the exchange. The replaced file gets its second name first, so that there is a mirror at its place at any time; the
 * lock on it ends only when it has left its place.
 */
async function swap(mirror: string, unfinished: UnfinishedFile, { force, ...clocks }: Clocks & { force: boolean }) {
  const locked = await lockUnlessDamaged(mirror, force, clocks)
  try {
    const hadMirror = !isMissing(mirror)
    const carried = await carryInto(unfinished.path, { replaced: locked?.db, mirror, nowMs: clocks.nowMs })
    unfinished.flush()
    giveToOwner(unfinished.path, mirror)
    const kept = keptName(mirror, clocks.nowMs)
    replacing((names) => {
      if (hadMirror) names.push(giveSecondName(mirror, kept))
      // What lies beside a mirror that is gone, or damaged, must not be taken for the WAL of the new one.
      for (const ending of ['-journal', '-wal'])
        if (!isMissing(mirror + ending)) names.push(moveAside(mirror + ending, kept + ending))
      removeFile(`${mirror}-shm`)
      putInPlace(unfinished.path, mirror)
    })
    return { kept: hadMirror ? kept : undefined, ...carried }
  } finally {
    locked?.release()
  }
}

const UNERASED = { fault: 'full', said: 'what is left of forgotten customers could not be erased' } as const

type Replacing = { replaced: Database.Database | undefined; mirror: string; nowMs: number }

async function carryInto(path: string, { replaced, mirror, nowMs }: Replacing) {
  const restored = connect(path, { fileMustExist: true })
  try {
    // What is deleted is overwritten in the file. An error closes it, and it is not used.
    restored.pragma('secure_delete = ON')
    restored.exec('BEGIN')
    if (replaced === undefined) passLostNumbers(restored, nowMs)
    const carried = replaced === undefined ? UNKNOWN : await carryOver(replaced, restored, nowMs)
    restored.exec('COMMIT')
    // Earlier values of forgotten customers may stand in free space of the backup.
    if ((carried.forgotten ?? 0) > 0 && !purge(restored)) throw mirrorFault(mirror, UNERASED, { kept: AS_IT_WAS })
    return { ...carried, ...countCustomers(restored) }
  } finally {
    restored.close()
  }
}

/** A mirror that is lost or damaged does not show what it held. */
const UNKNOWN = { feedGoesBack: true, forgotten: undefined, unrecognized: 0, onlyInBackup: [] }

/** A mirror that root restores still belongs to the user who owned it, or who owns its folder. */
function giveToOwner(path: string, mirror: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(isMissing(mirror) ? dirname(mirror) : mirror)
  chownSync(path, uid, gid)
}

/** `customers-replaced-20261122T021500123Z.db` */
function keptName(mirror: string, nowMs: number): string {
  return olderName(replacedName(mirror), timeIn(sqlTime(nowMs)) ?? '')
}

function restoreError(error: unknown, mirror: string): unknown {
  if (error instanceof LeftUndone) return placedError(error, mirror)
  const seen = seenIn(error)
  return seen === undefined ? fileError(error, mirror) : mirrorFault(mirror, seen, { kept: AS_IT_WAS, cause: error })
}

const AS_IT_WAS = 'Nothing was restored; the mirror is as it was.'

/** How long a restore waits for another one in the same folder. */
const LOCK_WAIT_MS = 2000

/**
 * Takes the lock of restores in the folder of a mirror: no other one works there, so unfinished files are of processes that were
 * killed. Throws MirrorUnusable `busy` while another restore has it.
 */
function lockRestore(mirror: string): { release: () => void } {
  const path = join(dirname(mirror), '.restore.lock')
  const taken = lock(path, LOCK_WAIT_MS, (cause) => {
    return mirrorFault(mirror, { fault: 'busy', said: 'another restore is under way. Nothing was restored' }, { cause })
  })
  return {
    release() {
      removeIfPossible([path])
      taken.release()
    },
  }
}
