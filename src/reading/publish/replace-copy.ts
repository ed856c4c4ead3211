import { renameSync } from 'node:fs'
import { flushPlace, type SecondName } from '../files/placed-file.ts'
import { afterPlacing } from '../files/copy-error.ts'
import type { UnfinishedCopy } from './unfinished-copy.ts'

/**
 * Puts a finished copy, and then its digest, in their places. Readers that have the copy from before open go on reading it;
 * `kept` is its second name, which is taken back when the new copy could not be put there.
 */
export function replaceCopy(file: string, { path, digestPath }: UnfinishedCopy, kept: SecondName | undefined): void {
  try {
    renameSync(path, file)
  } catch (error) {
    kept?.takeBack()
    throw error
  }
  afterPlacing('the digest beside it is still that of the copy from before', () =>
    renameSync(digestPath, `${file}.sha256`),
  )
  flushPlace(file)
}
