/** Whether the code of a system call says that no further file can be open for now, in this process or on this machine. */
export function isOutOfFiles(code: string): boolean {
  return /^(EMFILE|ENFILE)$/.test(code)
}

/** What is wrong then, with its fix. */
export const OUT_OF_FILES =
  'too many files are open. Raise the limit (ulimit -n, or LimitNOFILE of systemd), or try again later.'

/** What is wrong with a place where a file is to be made, by the codes of the system that mean the same for every file. */
export const PLACES: Readonly<Record<string, string>> = {
  EROFS: 'lies on a read-only file system.',
  ENOTDIR: 'has a file where a folder should be in its path.',
  ELOOP: 'leads through links that lead to each other.',
  ENAMETOOLONG: 'has a name that is too long.',
}
