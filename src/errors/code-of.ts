import { constants } from 'node:os'

/** The code that the system or a library gave an error, such as ENOENT; undefined for an error without one. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined
  const code = String(error.code)
  return 'errno' in error && UNNAMED.test(code) ? (NAMES.get(-Number(error.errno)) ?? code) : code
}

/** The code of a system call that failed; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error ? codeOf(error) : undefined
}

/** Node has no name for some errors of the system, such as a quota that is used up, and gives their number alone. */
const UNNAMED = /^(UNKNOWN|Unknown system error -\d+)$/

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.errno).map(([name, number]) => [number, name]),
)

/** Whether the code of a system call says that nothing more can be written: for want of room, or because the disk failed. */
export function isFull(code: string): boolean {
  return /^(ENOSPC|EDQUOT|EFBIG|EIO)$/.test(code)
}
