import { closeSync, openSync, readSync } from 'node:fs'

/** The header of a file of SQLite has this many bytes. */
export const HEADER_BYTES = 100

/** The first bytes of a file, which is there: as many as a header has, or all where there are fewer. */
export function readHeader(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const descriptor = openSync(file, 'r')
  try {
    return header.subarray(0, readSync(descriptor, header, 0, HEADER_BYTES, 0))
  } finally {
    closeSync(descriptor)
  }
}

/** Whether a file with these first bytes is one of SQLite. */
export function isOfSqlite(header: Buffer): boolean {
  return header.toString('latin1', 0, 16) === 'SQLite format 3\0'
}
