import { closeSync, openSync } from 'node:fs'
import { flushFile, listPrivate, privateName, removeFile, removeIfPossible } from '../files/placed-file.ts'
import { JOURNALS } from '../files/target-place.ts'

/** A mirror that is being written under a private name beside the file that it will replace. */
export type UnfinishedFile = {
  path: string
  /** Waits until all of it is on the disk. */
  flush: () => void
}

/**
 * Runs `work` with an empty private file beside `file`, and removes it afterwards where it was not put in its place. `ending` says what it is
 * for. What was left by a process that was killed is removed first: the caller makes sure that none is under way.
 */
export async function withUnfinishedFile<Result>(
  file: string,
  ending: Ending,
  work: (unfinished: UnfinishedFile) => Promise<Result>,
): Promise<Result> {
  listUnfinished(file, ending).forEach(removeFile)
  const path = privateName(file, ending)
  closeSync(openSync(path, 'wx', 0o600))
  try {
    return await work({ path, flush: () => flushFile(path) })
  } finally {
    removeIfPossible(['', ...JOURNALS].map((suffix) => path + suffix))
  }
}

type Ending = 'backup' | 'restore' | 'move'

/** The files beside `file` that are being written for it, or that a process left that was killed. */
export function listUnfinished(file: string, ending: Ending): string[] {
  return listPrivate(file, new RegExp(`${ending}(${JOURNALS.join('|')})?`))
}
