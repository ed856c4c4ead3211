import { lstatSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Interrupted, MirrorUnusable } from '../../errors/errors.ts'
import { codeOf, isOfSqlite, mirrorFault, seenIn } from '../../errors/faults.ts'
import { makeFolder } from '../../machine/make-folder.ts'
import { backupTakenAt, markAsBackup } from './backup-mark.ts'
import { type Copying, copyMirror, countRows, type RowCounts } from './copy-mirror.ts'
import { isDamage } from './open-backup.ts'
import { type UnfinishedFile, withUnfinishedFile } from './unfinished-file.ts'
import { isMirror, kindOfFile } from '../file-kind.ts'
import { afterPlacing, copyError, copyFault } from '../files/copy-error.ts'
import { listOlder, olderName, timeIn, tooManyOlder } from '../files/dated-name.ts'
import { lock } from '../files/folder-lock.ts'
import { giveSecondName, putInPlace, removeFile, replacing, type SecondName } from '../files/placed-file.ts'
import { refused, requireNoJournals, requirePlace } from '../files/target-place.ts'
import { type OpenedToRead, openToRead } from '../open-to-read.ts'
import { sqlTime } from '../../store/port/sql-time.ts'
import { connect } from '../../store/sqlite/connect.ts'
import { findDamage } from '../../store/sqlite/open-database.ts'
import { sqliteError } from '../../store/port/sqlite-errors.ts'

export type BackupPlan = {
  mirror: string
  /** An absolute path. */
  file: string
  /** How many backups there may be, `file` among them; undefined leaves older ones alone. */
  keep: number | undefined
}

/** A backup that was made and checked. */
export type Backup = { file: string; takenAt: string; bytes: number; customers: number; removed: string[] }

/** How long a backup waits for another one in the same folder. */
const LOCK_WAIT_MS = 2000

/**
 * Makes a backup of the whole mirror, one state of it, while runs go on. It is checked before it takes the place of the one from
 * before, which stays whole until then. Throws UsageError for a target that cannot be replaced, MirrorUnusable for a mirror that
 * cannot be read, CopyFailed, and Interrupted after an abort.
 */
export async function makeBackup(
  plan: BackupPlan,
  { nowMs, ...copying }: Copying & { nowMs: number },
): Promise<Backup> {
  const { file, mirror } = plan
  const source = openToRead(mirror)
  try {
    // Published copies are read in the same way, and lack what a run needs.
    if (!isMirror(source.db)) throw notAMirror(mirror)
    requireBackupTarget(file, mirror)
    makeFolder(dirname(file))
    const folder = lock(join(dirname(file), '.backup.lock'), LOCK_WAIT_MS, (cause) =>
      copyFault(
        dirname(file),
        { fault: 'busy', said: 'another process makes a backup there at the moment' },
        { cause },
      ),
    )
    try {
      return await withUnfinishedFile(file, 'backup', (unfinished) => {
        requireBackupTarget(file, mirror)
        return writeBackup(plan, { source, unfinished }, { ...copying, takenAt: sqlTime(nowMs) })
      })
    } finally {
      folder.release()
    }
  } catch (error) {
    // SQLite does not say which of the two files a failing disk belongs to; the one that is written is the more likely. The other is open.
    const isRead = isOfSqlite(error) && !['full', 'denied'].includes(seenIn(error)?.fault ?? '')
    throw isRead ? sqliteError(error, mirror) : copyError(error, file)
  } finally {
    source.close()
  }
}

async function writeBackup(
  { file, mirror, keep }: BackupPlan,
  { source, unfinished }: { source: OpenedToRead; unfinished: UnfinishedFile },
  { takenAt, ...copying }: Copying & { takenAt: string },
): Promise<Backup> {
  const expected = await copyMirror(source, unfinished.path, copying)
  finishBackup(unfinished.path, { file, mirror, expected, takenAt })
  if (copying.signal.aborted) throw new Interrupted('Stopped as asked. No backup was made.')
  unfinished.flush()
  const { size } = statSync(unfinished.path)
  const [replaced] = replacing((names) => {
    if (keep !== undefined && keep > 1) names.push(...keepOlderBackup(file))
    putInPlace(unfinished.path, file)
  })
  const removed = keep === undefined ? [] : pruneOlderBackups(file, { takenAt, replaced: replaced?.kept, keep })
  return { file, takenAt, bytes: size, customers: expected['customers'] ?? 0, removed }
}

/** Makes one file of it and reads all of it again. The leases of runs are deleted: they hold in the mirror alone. */
function finishBackup(
  path: string,
  { file, mirror, expected, takenAt }: { file: string; mirror: string; expected: RowCounts; takenAt: string },
): void {
  try {
    const db = connect(path, { fileMustExist: true })
    try {
      db.pragma('journal_mode = DELETE')
      const { leases: _leases, ...found } = countRows(db)
      const { leases: _before, ...wanted } = expected
      const damage = findDamage(db)
      if (damage.length > 0) throw damaged(mirror, damage)
      if (!isDeepStrictEqual(found, wanted))
        throw copyFault(file, { fault: 'full', said: 'the new backup lacks rows of the mirror' })
      db.transaction(() => {
        db.exec('DELETE FROM leases')
        markAsBackup(db, takenAt)
      })()
    } finally {
      db.close()
    }
  } catch (error) {
    throw isDamage(error) ? damaged(mirror, [error.message]) : copyError(error, file)
  }
}

function damaged(mirror: string, [first = '']: readonly string[]): MirrorUnusable {
  return mirrorFault(mirror, {
    fault: 'damaged',
    said: `${first}. No backup was made, and those from before were left as they are`,
  })
}

function notAMirror(mirror: string): MirrorUnusable {
  return new MirrorUnusable(`${mirror}: is a copy for readers, not a mirror. Name the mirror in the configuration.`, {
    code: 'foreign',
  })
}

/** Throws UsageError unless `file` is free, or a backup made by this program. */
function requireBackupTarget(file: string, mirror: string): void {
  requirePlace(file, mirror, { example: 'customers.db', ofMirror: 'is the mirror itself; name another file' })
  requireNoJournals(file, 'SQLite')
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined
  if (!isThere || kindOfFile(file) === 'empty' || backupTakenAt(file) !== undefined) return
  throw refused(
    file,
    'is there already, and is not a backup made by this command. It was left as it is; name another file',
  )
}

/**
 * Gives the backup at `file`, which is about to be replaced, a name with the moment of which it is, such as
 * `customers-20261122T021500123Z.db`, or with that of its file where a failing disk does not let it say. Returns it; nothing where there is
 * no backup yet, or where it has that name already.
 */
export function keepOlderBackup(file: string): SecondName[] {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || found.size === 0) return []
  const time = timeIn(backupTakenAt(file)) ?? timeIn(found.mtime.toISOString()) ?? ''
  try {
    return [giveSecondName(file, olderName(file, time))]
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return []
    throw error
  }
}

/**
 * Removes the oldest backups so that `keep` are left, `file` among them, which is in its place and of the moment `takenAt`. Returns what
 * was removed. Other files are left as they are. Throws LeftUndone.
 */
function pruneOlderBackups(
  file: string,
  { takenAt, replaced, keep }: { takenAt: string; replaced: string | undefined; keep: number },
): string[] {
  return afterPlacing('an older one could not be removed', () => {
    const older = listOlder(file).filter((path) => backupTakenAt(path) !== undefined)
    const tooMany = tooManyOlder(older, { file, at: takenAt, replaced, most: keep - 1 })
    tooMany.forEach(removeFile)
    return tooMany
  })
}
