/** The code that the system or a library gave an error, such as ENOENT; undefined for an error without one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** The code of a system call that failed; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error ? codeOf(error) : undefined
}
