import { chmodSync, closeSync, fchmodSync, fchownSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isMissing } from '../../machine/is-missing.ts'
import {
  digestOfFile,
  flushFile,
  listPrivate,
  privateName,
  removeFile,
  removeIfPossible,
} from '../files/placed-file.ts'
import { giveToGroup, type Access } from './copy-folder.ts'

/** A copy that is being made under a private name beside the one that it will replace, and its digest. */
export type UnfinishedCopy = {
  path: string
  digestPath: string
  /** Sets who may read it, and puts it on the disk. Returns its size and its SHA-256. */
  finish(): { bytes: number; sha256: string }
  /** Removes what was not put in its place. */
  remove(): void
}

/** Makes an empty private file, with the group of the copy. Throws CopyFailed where this user may not give it that group. */
export function unfinishedCopy(file: string, { gid, forAll }: Access): UnfinishedCopy {
  const path = privateName(file, PUBLISHING)
  const digestPath = `${path.slice(0, -PUBLISHING.length)}sha256.${PUBLISHING}`
  const paths = [path, `${path}-journal`, digestPath]
  const remove = () => removeIfPossible(paths)
  try {
    makeFile(path, { file, gid, mode: 0o600, content: '' })
  } catch (error) {
    remove()
    throw error
  }
  return {
    path,
    digestPath,
    finish() {
      const mode = forAll ? 0o444 : 0o440
      const finished = digestOfFile(path)
      flushFile(path)
      makeFile(digestPath, { file, gid, mode, content: `${finished.sha256}  ${basename(file)}\n` })
      chmodSync(path, mode)
      return finished
    },
    remove,
  }
}

/** What the names of files end with that are being published. */
export const PUBLISHING = 'publishing'

/** Removes what a publish left behind that was killed. The caller holds the lock of the folder, so none is under way. */
export function removeLeftovers(file: string): void {
  for (const path of listPrivate(file, /(sha256\.)?publishing(-journal)?/)) removeFile(path)
}

/** The copies that publishes under way, or that were killed, have begun beside a file. */
export function unfinishedCopies(file: string): string[] {
  return isMissing(dirname(file)) ? [] : listPrivate(file, /publishing(-journal)?/)
}

/** Makes a file with this content, and puts it on the disk. Throws CopyFailed where this user may not give it that group. */
export function makeFile(
  path: string,
  { file, gid, mode, content }: { file: string; gid: number | undefined; mode: number; content: string },
): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    fchmodSync(descriptor, 0o600)
    if (gid !== undefined) giveToGroup(file, gid, () => fchownSync(descriptor, -1, gid))
    fchmodSync(descriptor, mode)
    if (content === '') return
    writeSync(descriptor, content)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
