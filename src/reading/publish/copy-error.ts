import Database from 'better-sqlite3'
import { CopyFailed } from '../../errors/errors.ts'
import { sqliteError } from '../../mirror/sqlite/opening/file-errors.ts'
import { isFull, systemCode } from '../../errors/code-of.ts'
import { LeftUndone } from '../files/left-undone.ts'
import { isOutOfFiles, OUT_OF_FILES, PLACES } from '../files/place-error.ts'

const NO_ROOM =
  'the copy could not be written: the disk (or the folder for temporary files) is full, a quota is used up, or the disk failed. ' +
  'A copy that was there before is unchanged.'

/** A failure of SQLite or of the file system while a copy was made, as CopyFailed; any other error unchanged. */
export function copyError(error: unknown, file: string): unknown {
  if (error instanceof Database.SqliteError) return describeSqlite(error, file)
  if (error instanceof LeftUndone) return failed(`${file}: the new copy ${error.message}`, 'copy-unfinished', error)
  const code = systemCode(error)
  if (code === undefined) return error
  if (isFull(code)) return failed(`${file}: ${NO_ROOM} (${code})`, 'copy-full', error)
  if (isOutOfFiles(code))
    return failed(`${file}: ${OUT_OF_FILES} Nothing was published. (${code})`, 'copy-unfinished', error)
  const what = MEANINGS[code] ?? 'cannot be written there.'
  return failed(`${file}: ${what} Nothing was published. (${code})`, 'copy-unwritable', error)
}

/** The same while rows come from the mirror: what is not about room is about the mirror. */
export function readingError(error: unknown, { file, mirror }: { file: string; mirror: string }): unknown {
  return error instanceof Database.SqliteError && !isRoom(error) ? sqliteError(error, mirror) : copyError(error, file)
}

function describeSqlite(error: InstanceType<typeof Database.SqliteError>, file: string): CopyFailed {
  // Files were made beside it before, so that SQLite cannot make one is for want of room, or the disk's fault.
  if (isRoom(error) || error.code.startsWith('SQLITE_CANTOPEN'))
    return failed(`${file}: ${NO_ROOM} (${error.code})`, 'copy-full', error)
  if (/^SQLITE_(READONLY|PERM|AUTH)/.test(error.code))
    return failed(`${file}: ${DENIED} Nothing was published. (${error.code})`, 'copy-unwritable', error)
  return failed(
    `${file}: the new copy could not be finished. Nothing was published. (${error.code})`,
    'copy-unfinished',
    error,
  )
}

function isRoom({ code }: { code: string }): boolean {
  return /^SQLITE_(FULL|IOERR_(WRITE|FSYNC|TRUNCATE|GETTEMPPATH))/.test(code)
}

const DENIED = 'this user may not write there. Check who owns the folder, or publish as its owner.'

const MEANINGS: Readonly<Record<string, string>> = {
  ...PLACES,
  EACCES: DENIED,
  EPERM: DENIED,
}

function failed(message: string, code: CopyFailed['code'], cause: unknown): CopyFailed {
  return new CopyFailed(message, { code }, { cause })
}
