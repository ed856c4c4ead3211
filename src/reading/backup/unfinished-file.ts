import { closeSync, openSync } from 'node:fs'
import { flushFile } from '../flush.ts'
import { listPrivate, privateName } from '../private-name.ts'
import { removeFile, removeIfPossible } from '../remove-file.ts'
import { JOURNALS } from '../target-place.ts'

/** A mirror that is being written under a private name beside the file that it will replace. */
export type UnfinishedFile = {
  path: string
  /** Waits until all of it is on the disk. */
  flush(): void
  /** Removes what was not put in its place. */
  remove(): void
}

/** Makes an empty private file beside `file`. `ending` says what it is for: `backup`, `restore` or `move`. */
export function unfinishedFile(file: string, ending: Ending): UnfinishedFile {
  const path = privateName(file, ending)
  closeSync(openSync(path, 'wx', 0o600))
  return {
    path,
    flush: () => flushFile(path),
    remove: () => removeIfPossible(['', ...JOURNALS].map((suffix) => path + suffix)),
  }
}

type Ending = 'backup' | 'restore' | 'move'

/** Removes what was left by a process that was killed. The caller makes sure that none is under way. */
export function removeUnfinished(file: string, ending: Ending): void {
  listUnfinished(file, ending).forEach(removeFile)
}

/** The files beside `file` that are being written for it, or that a process left that was killed. */
export function listUnfinished(file: string, ending: Ending): string[] {
  return listPrivate(file, new RegExp(`${ending}(${JOURNALS.join('|')})?`))
}
