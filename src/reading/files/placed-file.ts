import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isOurs, MirrorUnusable } from '../../errors/errors.ts'
import { codeOf } from '../../errors/faults.ts'
import { afterPlacing, LeftUndone } from './copy-error.ts'
import { isSame } from './target-place.ts'

/*
 * How a file takes its place: it is written under a private name in the same folder, flushed, renamed, and the folder is flushed. On an
 * error it is removed, and what was there before stays.
 */

/** A private name beside a file, under which what will replace it is made. `ending` says what makes it, such as `backup`. */
export function privateName(file: string, ending: string): string {
  return join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.${ending}`)
}

/** The files beside `file` that have such a name, with an ending that `endings` matches as a whole. */
export function listPrivate(file: string, endings: RegExp): string[] {
  const start = `.${basename(file)}.`
  const rest = new RegExp(`^[0-9a-f]{16}\\.(?:${endings.source})$`)
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(start) && rest.test(name.slice(start.length)))
    .map((name) => join(dirname(file), name))
}

/** The error with the name of the file in place of its private name, which is gone by then and says nothing to anyone. */
export function underItsName(error: unknown, { path, file }: { path: string; file: string }): unknown {
  if (isOurs(error)) error.message = error.message.replaceAll(path, file)
  return error
}

/** Writes all bytes, and waits where a pipe is full. Returns false if its reader has closed it. */
export function writeAll(descriptor: number, bytes: Uint8Array): boolean {
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(descriptor, bytes, written)
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EPIPE') return false
      if (code !== 'EAGAIN') throw error
      // A pipe that another process made non-blocking, and that is full.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS)
    }
  }
  return true
}

const FULL_PIPE_MS = 5

/** Waits until all of a file is on the disk. */
export function flushFile(file: string): void {
  flush(file, 'r+')
}

/** Waits until the names in a folder are on the disk, where its file system can do that. */
export function flushFolder(folder: string): void {
  try {
    flush(folder, 'r')
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error
  }
}

/**
 * Gives a finished file its place, and waits until that is on the disk. Readers see what was there before or this file, whole. Throws the
 * error of the system while what was there before is there still, and LeftUndone afterwards.
 */
export function putInPlace(finished: string, place: string): void {
  renameSync(finished, place)
  flushPlace(place)
}

/** Waits until the name of a file that was put in its place is on the disk. Throws LeftUndone. */
export function flushPlace(place: string): void {
  afterPlacing(
    'the disk failed before it confirmed that: after a power failure, what was there before may be there again',
    () => flushFolder(dirname(place)),
  )
}

function flush(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

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

/** A file that is about to be replaced, and the name that it keeps. */
export type SecondName = {
  kept: string
  /** Makes it what and where it was before. Throws MirrorUnusable where the disk does not let it. */
  takeBack(): void
}

/** Gives the file at `place` the name `kept` too. Throws the error of the system, where it has no hard links or there is a file of that name. */
export function linkSecondName(place: string, kept: string): SecondName {
  linkSync(place, kept)
  return {
    kept,
    takeBack() {
      // A network may report a rename as failed that was done: then the second name is the only one.
      if (isSame(place, kept)) removeIfPossible([kept])
    },
  }
}

/**
 * Gives the file at `place` the name `kept` too, so that there is a file at its place at any time. It leaves its place already on a file
 * system without hard links, such as those of many network shares and memory sticks. Throws the error of the system, EEXIST where there is
 * a file of that name.
 */
export function giveSecondName(place: string, kept: string): SecondName {
  try {
    return linkSecondName(place, kept)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    return moveAside(place, kept)
  }
}

/** Gives the file at `place` the name `kept` in place of its own. Throws the error of the system. */
export function moveAside(place: string, kept: string): SecondName {
  renameSync(place, kept)
  return { kept, takeBack: () => putBack(kept, place) }
}

/**
 * Runs `replace`, which notes each second name that it gives, and returns those names. Where the new file did not get its place, all of
 * them are taken back.
 */
export function replacing(replace: (names: SecondName[]) => void): readonly SecondName[] {
  const names: SecondName[] = []
  try {
    replace(names)
    return names
  } catch (error) {
    if (!(error instanceof LeftUndone)) takeBack(names)
    throw error
  }
}

/** The file itself is the first, and is put back although one beside it could not be. */
function takeBack([first, ...others]: readonly SecondName[]): void {
  if (first === undefined) return
  try {
    takeBack(others)
  } finally {
    first.takeBack()
  }
}

function putBack(kept: string, place: string): void {
  try {
    renameSync(kept, place)
  } catch (error) {
    throw new MirrorUnusable(
      `${place}: could not be replaced, and is ${kept} now, because the disk failed before it had its name again. Check the disk, then ` +
        `rename it. (${codeOf(error)})`,
      { code: 'denied' },
      { cause: error },
    )
  }
}

/** The size of a file and its SHA-256. Reads it once, a part at a time. */
export function digestOfFile(file: string): { bytes: number; sha256: string } {
  const descriptor = openSync(file, 'r')
  try {
    const digest = createHash('sha256')
    const chunk = Buffer.allocUnsafe(1024 * 1024)
    let bytes = 0
    for (let read; (read = readSync(descriptor, chunk)) > 0; bytes += read) digest.update(chunk.subarray(0, read))
    return { bytes, sha256: digest.digest('hex') }
  } finally {
    closeSync(descriptor)
  }
}
