import Database from 'better-sqlite3'
import { MirrorUnusable, type MirrorCode } from '../errors.ts'

/** What SQLite's and the system's codes mean for the mirror, and what to do about each. */
const MEANINGS: [prefix: string, code: MirrorCode, sentence: string][] = [
  ['SQLITE_NOTADB', 'foreign', 'is not a SQLite file. It was left as it is; name another file as mirror.'],
  [
    'SQLITE_CORRUPT',
    'corrupt',
    'is damaged. Put back a backup, or move it away and sync anew; sqlite3 can save what is readable with .recover',
  ],
  ['SQLITE_FULL', 'full', 'the disk is full. Nothing of this page was kept; free some space and sync again.'],
  ['SQLITE_READONLY', 'read-only', 'cannot be written. Make the file and its folder writable for this user.'],
  ['SQLITE_CANTOPEN', 'unreadable', 'cannot be opened. Check that this user may read and write it and its folder.'],
  ['SQLITE_PERM', 'unreadable', 'may not be opened by this user.'],
  ['SQLITE_AUTH', 'unreadable', 'may not be opened by this user.'],
  ['SQLITE_IOERR', 'unreadable', 'the disk failed while it was read or written. Check the disk, then sync again.'],
  ['SQLITE_BUSY', 'locked', 'is locked by another program. Close it, or try again when it is done.'],
  ['SQLITE_LOCKED', 'locked', 'is locked by another program. Close it, or try again when it is done.'],
  ['EACCES', 'unreadable', 'may not be opened by this user. Check who owns the file and its folder.'],
  ['EPERM', 'unreadable', 'may not be opened by this user. Check who owns the file and its folder.'],
  ['EROFS', 'read-only', 'lies on a read-only file system.'],
  ['ENOSPC', 'full', 'the disk is full.'],
  ['EDQUOT', 'full', 'the disk quota is used up.'],
  ['ENOTDIR', 'unreadable', 'has a file where a folder should be in its path.'],
  ['EEXIST', 'unreadable', 'has a file where a folder should be in its path.'],
  ['ENOENT', 'unreadable', 'cannot be made there.'],
]

/** A failure of SQLite as MirrorUnusable; any other error unchanged. */
export function sqliteError(error: unknown, file: string): unknown {
  return error instanceof Database.SqliteError ? described(error, error.code, file) : error
}

/** A failure of SQLite or of the file system as MirrorUnusable; any other error unchanged. */
export function fileError(error: unknown, file: string): unknown {
  if (error instanceof Error && 'syscall' in error && 'code' in error) return described(error, String(error.code), file)
  return sqliteError(error, file)
}

function described(error: Error, code: string, file: string): unknown {
  const meaning = MEANINGS.find(([prefix]) => code.startsWith(prefix))
  if (meaning === undefined) return error
  return new MirrorUnusable(`${file}: ${meaning[2]} (${code})`, { code: meaning[1] }, { cause: error })
}
