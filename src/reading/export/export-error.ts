import { ExportFailed } from '../../errors.ts'

/**
 * A failure of the file system while an export was written to a file, or to standard output where that is undefined, as ExportFailed;
 * any other error unchanged.
 */
export function exportError(error: unknown, file: string | undefined): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const code = String(error.code)
  const place = file ?? 'standard output'
  const left = file === undefined ? WRITTEN_IN_PART : 'Nothing was exported; a file that was there before is unchanged.'
  if (/^(ENOSPC|EDQUOT|EFBIG|EIO)$/.test(code))
    return new ExportFailed(`${place}: ${NO_ROOM} ${left} (${code})`, { code: 'export-full' }, { cause: error })
  const what = MEANINGS[code] ?? 'cannot be written there.'
  return new ExportFailed(`${place}: ${what} ${left} (${code})`, { code: 'export-unwritable' }, { cause: error })
}

const NO_ROOM = 'the disk is full, a quota is used up, or the disk failed.'
const WRITTEN_IN_PART = 'What was written is not all of it.'
const DENIED = 'this user may not write there. Check who owns the folder, or name another file.'

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: DENIED,
  EPERM: DENIED,
  EROFS: 'lies on a read-only file system.',
  ENOENT: 'its folder does not exist. Make the folder, or name another file.',
  ENOTDIR: 'has a file where a folder should be in its path.',
  ELOOP: 'leads through links that lead to each other.',
  ENAMETOOLONG: 'has a name that is too long.',
}
