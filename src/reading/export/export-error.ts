import Database from 'better-sqlite3'
import { ExportFailed } from '../../errors/errors.ts'
import { isFull, systemCode } from '../../errors/code-of.ts'
import { LeftUndone } from '../files/left-undone.ts'
import { isOutOfFiles, OUT_OF_FILES, PLACES } from '../files/place-error.ts'
import { NO_ROOM, resultsError } from '../results-error.ts'

/**
 * A failure of the file system while an export was written to a file, or to standard output where that is undefined, as ExportFailed;
 * any other error unchanged.
 */
export function exportError(error: unknown, file: string | undefined): unknown {
  if (file === undefined) return resultsError(error)
  if (error instanceof LeftUndone)
    return new ExportFailed(`${file}: the new export ${error.message}`, { code: 'export-unfinished' }, { cause: error })
  const code = isOfLock(error) ? error.code : systemCode(error)
  if (code === undefined) return error
  if (isFull(code) || code.startsWith('SQLITE_'))
    return new ExportFailed(`${file}: ${NO_ROOM} ${UNCHANGED} (${code})`, { code: 'export-full' }, { cause: error })
  if (isOutOfFiles(code))
    return new ExportFailed(
      `${file}: ${OUT_OF_FILES} ${UNCHANGED} (${code})`,
      { code: 'export-unfinished' },
      { cause: error },
    )
  const what = MEANINGS[code] ?? 'cannot be written there.'
  return new ExportFailed(`${file}: ${what} ${UNCHANGED} (${code})`, { code: 'export-unwritable' }, { cause: error })
}

/** The lock of a folder of partitions is a file of SQLite, which says so of a disk that fails. */
function isOfLock(error: unknown): error is InstanceType<typeof Database.SqliteError> {
  return error instanceof Database.SqliteError && /^SQLITE_(FULL|IOERR|CORRUPT|CANTOPEN)/.test(error.code)
}

/** Does the work of an export at a place, with its failures as ExportFailed. */
export function asExport<Result>(place: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw exportError(error, place)
  }
}

const UNCHANGED = 'Nothing was written; a file that was there before is unchanged.'
const DENIED = 'this user may not write there. Check who owns the folder, or name another file.'

const MEANINGS: Readonly<Record<string, string>> = {
  ...PLACES,
  EACCES: DENIED,
  EPERM: DENIED,
  ENOENT: 'its folder does not exist. Make the folder, or name another file.',
}
