import { chmodSync, chownSync, mkdirSync, realpathSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UsageError } from '../../errors/errors.ts'
import { copyError, copyFault } from '../files/copy-error.ts'
import { lock } from '../files/folder-lock.ts'

/** Who may read a copy besides its owner: the members of a group, or all users of the machine. */
export type Access = { gid: number | undefined; forAll: boolean }

/** Throws UsageError for a folder whose copies others could replace, or which is that of the mirror. */
export function requireSafeFolder(file: string, mirror: string): void {
  const folder = dirname(file)
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new UsageError(`${folder}: is not a folder, so no copy can be put there.`)
  if (realpathSync(folder) === dirname(realpathSync(mirror))) throw ofTheMirror(folder)
  if ((found.mode & 0o022) !== 0)
    throw new UsageError(
      `${folder}: users besides its owner may write there, and could replace the copy. ${anotherFolder(folder)}`,
    )
}

/** Throws UsageError for the folder in which the mirror will be made. */
export function requireOtherFolder(file: string, mirror: string): void {
  if (dirname(file) === dirname(mirror)) throw ofTheMirror(dirname(file))
}

function ofTheMirror(folder: string): UsageError {
  return new UsageError(`${folder}: is the folder of the mirror, which is private. ${anotherFolder(folder)}`)
}

function anotherFolder(folder: string): string {
  return `Name a file in a folder of its own, e.g. ${join(folder, 'copies', 'readers.db')}, whose folder is made for you.`
}

/** Makes the folder of a copy, and those above it, where they are missing: 0750, or 0755 where all users may read the copy. */
export function prepareFolder(file: string, { gid, forAll }: Access): void {
  const made: string[] = []
  try {
    for (const folder of missingFolders(dirname(file))) {
      if (!makeFolder(folder)) continue
      made.push(folder)
      if (gid !== undefined) giveToGroup(file, gid, () => chownSync(folder, -1, gid))
      chmodSync(folder, forAll ? 0o755 : 0o750)
    }
  } catch (error) {
    for (const folder of made.toReversed()) rmdirSync(folder)
    throw error
  }
}

/**
 * Takes the lock of the folder of a copy, so that two processes do not publish there at once. Throws CopyFailed when another
 * process has it for longer than `waitMs`.
 */
export function lockFolder(file: string, waitMs: number): { release: () => void } {
  return lock(join(dirname(file), '.publish.lock'), waitMs, (cause) => {
    return copyFault(dirname(file), { fault: 'busy', said: 'another process publishes there at the moment' }, { cause })
  })
}

/** False where another process that publishes made it meanwhile. */
function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 })
    return true
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return false
    throw error
  }
}

/** Throws UsageError where this user may not give files to that group. */
export function giveToGroup(file: string, gid: number, give: () => void): void {
  try {
    give()
  } catch (error) {
    throw copyError(error, `${file}, to be given to group ${gid}`)
  }
}

/** From the outermost to the innermost. */
function missingFolders(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return []
  return [...missingFolders(dirname(folder)), folder]
}

/** A sentence about the folder, if there is one, that keeps those from the copy who may read it. */
export function unreachableFolder(file: string, { gid, forAll }: Access): string | undefined {
  if (gid === undefined && !forAll) return undefined
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const { mode, gid: owner } = statSync(folder)
    const mayEnter = (mode & 0o001) !== 0 || (!forAll && owner === gid && (mode & 0o010) !== 0)
    if (!mayEnter) {
      const who = forAll ? 'other users' : 'the group of the copy'
      const fix = forAll ? `chmod o+x ${folder}` : `chgrp ${gid} ${folder} && chmod g+x ${folder}`
      return `${folder}: ${who} cannot enter this folder, and so not read the copy. Run: ${fix}`
    }
    if (folder === dirname(folder)) return undefined
  }
}
