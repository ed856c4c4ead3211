/** The code that the system or a library gave an error, such as ENOENT; undefined for an error without one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
