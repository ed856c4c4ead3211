import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { flushFolder } from '../flush.ts'
import type { UnfinishedCopy } from './unfinished-copy.ts'

/**
 * Puts a finished copy, and then its digest, in their places. Readers that have the copy from before open go on reading it;
 * `kept` is its second name, which is taken back when the new copy could not be put there.
 */
export function replaceCopy(file: string, { path, digestPath }: UnfinishedCopy, kept: string | undefined): void {
  try {
    renameSync(path, file)
  } catch (error) {
    if (kept !== undefined) rmSync(kept, { force: true })
    throw error
  }
  flushFolder(dirname(file))
  renameSync(digestPath, `${file}.sha256`)
  flushFolder(dirname(file))
}
