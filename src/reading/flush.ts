import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Waits until all of a file is on the disk. */
export function flushFile(file: string): void {
  flush(file, 'r+')
}

/** Waits until the names in a folder are on the disk. */
export function flushFolder(folder: string): void {
  flush(folder, 'r')
}

function flush(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
