import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'

/** Waits until all of a file is on the disk. */
export function flushFile(file: string): void {
  flush(file, 'r+')
}

/** Waits until the names in a folder are on the disk. */
export function flushFolder(folder: string): void {
  flush(folder, 'r')
}

/** Gives a finished file its place, and waits until that is on the disk. Readers see what was there before or this file, whole. */
export function putInPlace(finished: string, place: string): void {
  renameSync(finished, place)
  flushFolder(dirname(place))
}

function flush(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
