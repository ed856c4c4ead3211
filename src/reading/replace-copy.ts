import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { UnfinishedCopy } from './publish/unfinished-copy.ts'

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

/** Waits until the names in a folder are on the disk. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
