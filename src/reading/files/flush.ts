import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../../errors/faults.ts'
import { afterPlacing } from './copy-error.ts'

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
