import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'

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
