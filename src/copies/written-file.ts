import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isOurs } from '../errors/errors.ts'
import { codeOf, seenIn } from '../errors/faults.ts'
import { isMissing, giveToOwner } from '../machine/folders.ts'
import { closing } from '../store/mirror.ts'
import { connect } from '../store/sqlite/connect.ts'
import { JOURNALS } from '../store/sqlite/open-to-read.ts'
import { afterPlacing, atPlace, copyError, copyFault } from './copy-error.ts'

/*
 * How a file takes its place: its lock is taken, it is written under a private name in the same folder, flushed, renamed, and the folder is flushed.
 * On an error it is removed, and what was there before stays. What a killed process left is removed by the next one that writes into the folder.
 */

/** How long another process is waited for that writes the file, and the group and the mode of the file, 0600 unless another one is given. */
type Writing = { waitMs?: number; gid?: number | undefined; mode?: number }

/** Begins a file under a private name, empty and of this user alone, and holds its lock until `close`; `place` gives it its name. */
export function beginFile(file: string, { gid, mode = 0o600, ...waiting }: Writing = {}) {
  const lock = lockPlace(file, waiting)
  const path = privateName(file)
  const close = () => {
    removeIfPossible(['', ...JOURNALS].map((ending) => path + ending))
    lock.release()
  }
  try {
    removeLeftovers(dirname(file), basename(file))
    makeFile(path, gid)
  } catch (error) {
    close()
    throw error
  }
  const place = () => {
    fs.chmodSync(path, mode)
    withOpen(path, fs.fsyncSync)
    fs.renameSync(path, file)
    const what =
      'the disk failed before it confirmed that: after a power failure, what was there before may be there again'
    afterPlacing(file, what, () => flushFolder(dirname(file)))
  }
  return { path, place, close }
}

/** Errors name the file, and not its private name, which is gone by then. */
export async function writeFor<Result>(file: string, work: (begun: ReturnType<typeof beginFile>) => Promise<Result>) {
  const begun = beginFile(file)
  return closing(begun, work).catch((error: unknown) => {
    if (isOurs(error)) error.message = error.message.replaceAll(begun.path, file)
    throw error
  })
}

/** Writes a text as a file, which is there as a whole or not at all. */
export function writeTextFile(file: string, text: string, writing: Writing = {}): void {
  const { path, place, close } = beginFile(file, writing)
  try {
    fs.writeFileSync(path, text)
    place()
  } finally {
    close()
  }
}

export function privateName(file: string): string {
  return join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.unfinished`)
}

/** The names of unfinished files, or of locks. The first group is the file that they are for, the second one marks an unfinished file. */
const PRIVATE = /^\.(.+?)(?:(\.[0-9a-f]{16}\.unfinished)(?:-journal|-wal|-shm)?|\.writing)$/s

/** The unfinished files in a folder by the name of the file that they are for; also a name of which there is a lock alone. */
function privateIn(folder: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const name of fs.readdirSync(folder)) {
    const [, file, unfinished] = PRIVATE.exec(name) ?? []
    if (file === undefined) continue
    found.set(file, [...(found.get(file) ?? []), ...(unfinished === undefined ? [] : [join(folder, name)])])
  }
  return found
}

/** The files beside `file` that are being written for it, or that a process left that was killed. */
export function listUnfinished(file: string): string[] {
  return isMissing(dirname(file)) ? [] : (privateIn(dirname(file)).get(basename(file)) ?? [])
}

/** Removes what killed writers left in this folder: a lock that can be taken has no holder. The caller holds that of the name `held`. */
export function removeLeftovers(folder: string, held?: string): void {
  for (const [name, unfinished] of privateIn(folder))
    try {
      const lock = name === held ? undefined : lockPlace(join(folder, name), { waitMs: 0 })
      removeIfPossible(unfinished)
      lock?.release()
    } catch {
      // It is being written, or of another user.
    }
}

/** Locks a place by a file beside it, which ends with the process. Throws `busy` after `waitMs`, and UsageError for another file. */
export function lockPlace(
  file: string,
  { waitMs = 2000, busy = (cause) => busyAt(file, cause) }: { waitMs?: number; busy?: (cause: unknown) => Error } = {},
): { release: () => void } {
  const path = join(dirname(file), `.${basename(file)}.writing`)
  while (mayBeLock(path)) {
    const inodeNow = () => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino
    const inode = inodeNow()
    const isInPlace = () => inodeNow() === inode
    const db = connect(path, { timeout: waitMs })
    try {
      // No journal: nothing is ever written into this file.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    } catch (error) {
      db.close()
      throw seenIn(error)?.fault === 'busy' ? busy(error) : copyError(error, file)
    }
    const release = () => {
      if (isInPlace()) removeIfPossible([path])
      db.close()
    }
    if (isInPlace()) return { release }
    // Its holder was done, and has removed it.
    db.close()
  }
  throw copyFault(path, { fault: 'denied', said: `stands where the lock of ${basename(file)} goes` })
}

export function busyAt(file: string, cause: unknown): Error {
  return copyFault(file, { fault: 'busy', said: 'another process writes it at the moment' }, { cause })
}

/** Whether there is an empty file of this user, or for root of anyone; it is made where nothing is. */
function mayBeLock(path: string): boolean {
  try {
    makeFile(path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  const found = fs.lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return mayBeLock(path)
  return found.isFile() && found.size === 0 && [0, found.uid].includes(process.geteuid?.() ?? 0)
}

/** Makes an empty file, 0600, of a group where one is given. What root makes belongs to the owner of the folder. */
export function makeFile(path: string, gid?: number): void {
  fs.closeSync(fs.openSync(path, 'wx', 0o600))
  fs.chmodSync(path, 0o600)
  giveToOwner(path)
  if (gid !== undefined) giveToGroup(path, gid)
}

/** Throws UsageError where this user may not give files to that group. */
export function giveToGroup(path: string, gid: number): void {
  atPlace(`${dirname(path)}, where files are to be given to group ${gid}`, () => fs.chownSync(path, -1, gid))
}

function withOpen<Result>(path: string, work: (descriptor: number) => Result): Result {
  const descriptor = fs.openSync(path, 'r')
  try {
    return work(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Waits until the names in a folder are on the disk, where its file system can do that. */
export function flushFolder(folder: string): void {
  try {
    withOpen(folder, fs.fsyncSync)
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error
  }
}

/** Removes a file, where there is one. Throws the error of the system; that of `rmSync` has no code where a disk failed or is read-only. */
export function removeFile(path: string): void {
  try {
    fs.unlinkSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** Removes what is of no use any more, as far as the disk lets it: the error that came before is the one to report. */
export function removeIfPossible(paths: readonly string[]): void {
  for (const path of paths)
    try {
      removeFile(path)
    } catch {
      // It has a private name, by which the next command finds it; or it is of another user, in a folder of many.
    }
}

/** The size of a file and its SHA-256. Reads it once, a part at a time. */
export function digestOfFile(file: string): { bytes: number; sha256: string } {
  return withOpen(file, (descriptor) => {
    const digest = createHash('sha256')
    const chunk = Buffer.allocUnsafe(1024 * 1024)
    let bytes = 0
    for (let read; (read = fs.readSync(descriptor, chunk)) > 0; bytes += read) digest.update(chunk.subarray(0, read))
    return { bytes, sha256: digest.digest('hex') }
  })
}
