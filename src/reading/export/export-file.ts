import { chmodSync, closeSync, fsyncSync, lstatSync, openSync, statSync } from 'node:fs'
import { listPrivate, putInPlace, removeIfPossible } from '../files/placed-file.ts'
import { atPlace } from '../files/copy-error.ts'

/** What the names of exports end with that are being written. */
export const EXPORTING = 'exporting'

/** An export that is being written under a private name. */
export type UnfinishedExport = {
  descriptor: number
  /** Puts it on the disk and then in its place. Throws ExportFailed. */
  finish(): void
  /** Removes what was not put in its place. */
  remove(): void
}

/** Makes the file at `path` (0600), which will be that at `file`. Throws ExportFailed where this user cannot write there. */
export function beginExport(path: string, file: string): UnfinishedExport {
  const descriptor = atPlace(file, () => openSync(path, 'wx', 0o600))
  const remove = () => {
    closeSync(descriptor)
    removeIfPossible([path])
  }
  try {
    atPlace(file, () => {
      chmodSync(path, 0o600)
      removeLeftovers(file, path)
    })
  } catch (error) {
    remove()
    throw error
  }
  return {
    descriptor,
    finish: () =>
      atPlace(file, () => {
        fsyncSync(descriptor)
        putInPlace(path, file)
      }),
    remove,
  }
}

/** An export that was not written to for so long is of a process that is gone. */
const ABANDONED_MS = 3_600_000

/** Removes what exports to this file left behind that were killed. The clock is that of the file system, on a new file. */
function removeLeftovers(file: string, path: string): void {
  const nowMs = statSync(path).mtimeMs
  for (const place of listPrivate(file, new RegExp(EXPORTING))) {
    const found = lstatSync(place, { throwIfNoEntry: false })
    if (found?.isFile() === true && nowMs - found.mtimeMs > ABANDONED_MS) removeIfPossible([place])
  }
}
