import { unlinkSync } from 'node:fs'
import { codeOf } from '../../errors/faults.ts'

/** Removes a file, where there is one. Throws the error of the system; that of `rmSync` has no code where a disk failed or is read-only. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** Removes what is of no use any more, as far as the disk lets it: the error that came before is the one to report. */
export function removeIfPossible(paths: readonly string[]): void {
  for (const path of paths) {
    try {
      removeFile(path)
    } catch {
      // It has a private name, by which the next command of its kind finds it; or it is of another user, in a folder of many.
    }
  }
}
