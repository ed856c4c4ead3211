import { isPostgres } from '../address/mirror-address.ts'

/**
 * Runs `work` with a file of SQLite that has what readers see of the mirror: the mirror itself, or a private copy of one in PostgreSQL, which
 * is removed afterwards.
 */
export async function withFileToRead<Result>(
  mirror: string,
  work: (file: string) => Result | Promise<Result>,
): Promise<Result> {
  if (!isPostgres(mirror)) return await work(mirror)
  const { makePrivateCopy } = await import('./private-copy.ts')
  const copy = await makePrivateCopy(mirror)
  try {
    return await work(copy.file)
  } finally {
    copy.remove()
  }
}
