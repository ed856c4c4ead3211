import Database from 'better-sqlite3'
import { systemCode } from '../../../errors/code-of.ts'
import { MirrorUnusable, type MirrorCode } from '../../../errors/errors.ts'
import { incomplete } from '../../sql/schema.ts'

const KEPT_NOTHING = 'Nothing of this step was kept; free some space, then run the command again.'

/** The meaning of SQLite's and the system's codes for the mirror, each with its fix. The first that fits holds. */
const MEANINGS: readonly [pattern: RegExp, code: MirrorCode, sentence: string][] = [
  [/^SQLITE_NOTADB/, 'foreign', 'is not a SQLite file. It was left as it is; name another file as mirror.'],
  // SQLite turns an EIO of the disk into this code.
  [
    /^SQLITE_CORRUPT/,
    'corrupt',
    "is damaged, or its disk failed while it was read. Check the disk, then the file with 'customer-mirror check'. If that finds damage, put back a backup, or " +
      'move the file away and sync anew; sqlite3 can save what is readable with .recover',
  ],
  // SQLite does not pass on which of the two.
  [/^SQLITE_FULL/, 'full', `the disk (or the folder for temporary files) is full. ${KEPT_NOTHING}`],
  [
    /^SQLITE_IOERR_GETTEMPPATH/,
    'unreadable',
    'there is no folder for temporary files that this user can write. Let TMPDIR name one, then run the command again.',
  ],
  [/^SQLITE_READONLY/, 'read-only', 'cannot be written. Make the file and its folder writable for this user.'],
  [
    /^SQLITE_CANTOPEN/,
    'unreadable',
    'cannot be opened. Check that this user may read and write it and its folder, and then the disk and any quota.',
  ],
  [/^SQLITE_(PERM|AUTH)/, 'unreadable', 'may not be opened by this user.'],
  [
    /^(SQLITE_IOERR_(?!READ|SHORT_READ)|EIO)/,
    'full',
    `the disk is full, a quota is used up, or the disk failed. ${KEPT_NOTHING}`,
  ],
  [/^SQLITE_IOERR/, 'unreadable', 'the disk failed while it was read. Check the disk, then run the command again.'],
  // SQLITE_PROTOCOL: programs that open it at once wait for each other, but not without end.
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'locked', 'is locked by another program. Close it, or try again when it is done.'],
  [/^(EACCES|EPERM)/, 'unreadable', 'may not be opened by this user. Check who owns the file and its folder.'],
  [
    /^EROFS/,
    'read-only',
    'lies on a read-only file system. Mount it so that it can be written; status, runs, query, sql, export, publish and backup read it as it is.',
  ],
  [/^ENOSPC/, 'full', 'the disk is full. Free some space, then run the command again.'],
  [/^EDQUOT/, 'full', 'the disk quota is used up. Free some space, then run the command again.'],
  [/^(ENOTDIR|EEXIST)/, 'unreadable', 'has a file where a folder should be in its path.'],
  [
    /^ELOOP/,
    'unreadable',
    'has a symbolic link in its path that leads back to itself. Correct the link, or name another file.',
  ],
  [/^ENAMETOOLONG/, 'unreadable', 'has a name that is too long for its disk. Name another file.'],
  [/^ENOENT/, 'unreadable', 'cannot be made there.'],
]

/** A failure of SQLite as MirrorUnusable; any other error unchanged. */
export function sqliteError(error: unknown, file: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  const dropped = /^no such table: (?:\w+\.)?(\w+)$/.exec(error.message)?.[1]
  return dropped === undefined ? described(error, error.code, file) : incomplete(file, [dropped])
}

/** A failure of SQLite or of the file system while a mirror is opened, as MirrorUnusable; any other error unchanged. */
export function fileError(error: unknown, file: string): unknown {
  const code = systemCode(error)
  if (error instanceof Error && code !== undefined) return described(error, code, file)
  return sqliteError(error, file)
}

function described(error: Error, code: string, file: string): unknown {
  const meaning = MEANINGS.find(([pattern]) => pattern.test(code))
  if (meaning === undefined) return error
  return new MirrorUnusable(`${file}: ${meaning[2]} (${code})`, { code: meaning[1] }, { cause: error })
}
