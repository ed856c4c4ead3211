import { statSync } from 'node:fs'
import { fileError } from './file-errors.ts'

/** Device and inode of a file; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? undefined : `${found.dev}:${found.ino}`
  } catch (error) {
    throw fileError(error, path)
  }
}
