import { rmSync } from 'node:fs'
import { putInPlace } from '../flush.ts'
import type { UnfinishedCopy } from './unfinished-copy.ts'

/**
 * Puts a finished copy, and then its digest, in their places. Readers that have the copy from before open go on reading it;
 * `kept` is its second name, which is taken back when the new copy could not be put there.
 */
export function replaceCopy(file: string, { path, digestPath }: UnfinishedCopy, kept: string | undefined): void {
  try {
    putInPlace(path, file)
  } catch (error) {
    if (kept !== undefined) rmSync(kept, { force: true })
    throw error
  }
  putInPlace(digestPath, `${file}.sha256`)
}
