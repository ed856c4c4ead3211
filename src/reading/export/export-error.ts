import { ExportFailed } from '../../errors.ts'
import { isFull, PLACES, systemCode } from '../place-error.ts'

/**
 * A failure of the file system while an export was written to a file, or to standard output where that is undefined, as ExportFailed;
 * any other error unchanged.
 */
export function exportError(error: unknown, file: string | undefined): unknown {
  const code = systemCode(error)
  if (code === undefined) return error
  const place = file ?? 'standard output'
  const left = file === undefined ? WRITTEN_IN_PART : 'Nothing was exported; a file that was there before is unchanged.'
  if (isFull(code))
    return new ExportFailed(`${place}: ${NO_ROOM} ${left} (${code})`, { code: 'export-full' }, { cause: error })
  const what = MEANINGS[code] ?? 'cannot be written there.'
  return new ExportFailed(`${place}: ${what} ${left} (${code})`, { code: 'export-unwritable' }, { cause: error })
}

const NO_ROOM = 'the disk is full, a quota is used up, or the disk failed.'
const WRITTEN_IN_PART = 'What was written is not all of it.'
const DENIED = 'this user may not write there. Check who owns the folder, or name another file.'

const MEANINGS: Readonly<Record<string, string>> = {
  ...PLACES,
  EACCES: DENIED,
  EPERM: DENIED,
  ENOENT: 'its folder does not exist. Make the folder, or name another file.',
}
