import { writeSync } from 'node:fs'
import { codeOf } from '../../errors/faults.ts'

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
