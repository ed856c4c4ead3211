import { chownSync, existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a private folder (0700) and those above it that are missing, each given to `prepare`; what root makes belongs to the owner of the folder
 * it is in. Throws the error of the system; mkdir with `recursive` takes a read-only disk for a missing folder, and in /proc it tries without end.
 */
export function makeFolder(folder: string, prepare: (made: string) => void = () => {}): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return
  makeFolder(dirname(folder), prepare)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
    return
  }
  try {
    giveToOwner(folder)
    prepare(folder)
  } catch (error) {
    rmdirSync(folder)
    throw error
  }
}

/** The folder, or where it is missing the nearest one above it that is there. */
export function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder))
}

/** Gives what root has just made in a folder to the owner of that, where its file system can. */
export function giveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  try {
    if (uid !== 0) chownSync(path, uid, gid)
  } catch {
    // One owner has all files of a memory stick, and of many a network share.
  }
}

/** Whether it is certain that there is no such file. In a folder that may not be entered it is not: whatever opens the file says why. */
export function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}
