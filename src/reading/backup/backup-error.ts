import Database from 'better-sqlite3'
import { BackupFailed } from '../../errors/errors.ts'
import { isFull, systemCode } from '../../errors/code-of.ts'
import { LeftUndone } from '../files/left-undone.ts'
import { isOutOfFiles, OUT_OF_FILES, PLACES } from '../files/place-error.ts'

const NO_ROOM =
  'the backup could not be written: the disk is full, a quota is used up, or the disk failed. A backup that was there before is ' +
  'unchanged.'

/** A failure of SQLite or of the file system where a backup is written, as BackupFailed; any other error unchanged. */
export function backupError(error: unknown, file: string): unknown {
  if (error instanceof LeftUndone) return failed(`${file}: the new backup ${error.message}`, 'backup-unfinished', error)
  const code = error instanceof Database.SqliteError ? error.code : systemCode(error)
  if (code === undefined) return error
  // Files were made beside it before, so that SQLite cannot make one is for want of room, or the disk's fault.
  if (isFull(code) || /^SQLITE_(FULL|IOERR|CANTOPEN)/.test(code))
    return failed(`${file}: ${NO_ROOM} (${code})`, 'backup-full', error)
  if (isOutOfFiles(code))
    return failed(`${file}: ${OUT_OF_FILES} No backup was made. (${code})`, 'backup-unfinished', error)
  const what = MEANINGS[code.replace(/^(SQLITE_(READONLY|PERM|AUTH)).*$/, '$1')]
  if (what === undefined && code.startsWith('SQLITE_'))
    return failed(
      `${file}: the backup could not be finished. Nothing was changed. (${code})`,
      'backup-unfinished',
      error,
    )
  return failed(
    `${file}: ${what ?? 'cannot be written there.'} No backup was made. (${code})`,
    'backup-unwritable',
    error,
  )
}

/** Whether SQLite found the file damaged, or to be no database. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)
}

const DENIED = 'this user may not write there. Check who owns the folder, or name another one.'

const MEANINGS: Readonly<Record<string, string>> = {
  ...PLACES,
  EACCES: DENIED,
  EPERM: DENIED,
  SQLITE_READONLY: DENIED,
  SQLITE_PERM: DENIED,
  SQLITE_AUTH: DENIED,
  EEXIST: 'has a file where a folder should be in its path.',
}

function failed(message: string, code: BackupFailed['code'], cause: unknown): BackupFailed {
  return new BackupFailed(message, { code }, { cause })
}
