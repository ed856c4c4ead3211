import { ExportFailed } from '../../errors.ts'

/** A failure of the file system while an export was written to `place`, as ExportFailed; any other error unchanged. */
export function exportError(error: unknown, place: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const code = String(error.code)
  const cause = { cause: error }
  if (/^(ENOSPC|EDQUOT|EFBIG|EIO)$/.test(code))
    return new ExportFailed(`${place}: ${NO_ROOM} (${code})`, { code: 'export-full' }, cause)
  const what = MEANINGS[code] ?? 'cannot be written there.'
  return new ExportFailed(`${place}: ${what} Nothing was exported. (${code})`, { code: 'export-unwritable' }, cause)
}

const NO_ROOM =
  'the export could not be written: the disk is full, a quota is used up, or the disk failed. A file that was there before is unchanged.'

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
