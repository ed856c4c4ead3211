import Database from 'better-sqlite3'
import { BackupFailed } from '../../errors.ts'

const NO_ROOM =
  'the backup could not be written: the disk is full, a quota is used up, or the disk failed. A backup that was there before is ' +
  'unchanged.'

/** A failure of SQLite or of the file system where a backup is written, as BackupFailed; any other error unchanged. */
export function backupError(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === undefined) return error
  if (/^(ENOSPC|EDQUOT|EFBIG|EIO|SQLITE_FULL|SQLITE_IOERR)/.test(code))
    return failed(`${file}: ${NO_ROOM} (${code})`, 'backup-full', error)
  const what = MEANINGS[code.replace(/^(SQLITE_(CANTOPEN|READONLY|PERM|AUTH)).*$/, '$1')]
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

function codeOf(error: unknown): string | undefined {
  if (error instanceof Database.SqliteError) return error.code
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined
}

const DENIED = 'this user may not write there. Check who owns the folder, or name another one.'

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: DENIED,
  EPERM: DENIED,
  SQLITE_CANTOPEN: DENIED,
  SQLITE_READONLY: DENIED,
  SQLITE_PERM: DENIED,
  SQLITE_AUTH: DENIED,
  EROFS: 'lies on a read-only file system.',
  EEXIST: 'has a file where a folder should be in its path.',
  ENOTDIR: 'has a file where a folder should be in its path.',
  ELOOP: 'leads through links that lead to each other.',
  ENAMETOOLONG: 'has a name that is too long.',
}

function failed(message: string, code: BackupFailed['code'], cause: unknown): BackupFailed {
  return new BackupFailed(message, { code }, { cause })
}
