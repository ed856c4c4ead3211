import { closeSync, openSync, readSync } from 'node:fs'
import { APPLICATION_ID } from '../mirror/sqlite/database.ts'

/** `CPUB`: marks a copy published by this program, which it may replace and remove. */
export const COPY_APPLICATION_ID = 0x43505542

/** What a file is, by its first bytes. An empty file holds nothing that could be lost. */
export function kindOfFile(path: string): 'empty' | 'copy' | 'mirror' | 'foreign' {
  const header = Buffer.alloc(100)
  const descriptor = openSync(path, 'r')
  try {
    const length = readSync(descriptor, header, 0, header.length, 0)
    if (length === 0) return 'empty'
    if (length < header.length || header.toString('latin1', 0, 16) !== 'SQLite format 3\0') return 'foreign'
  } finally {
    closeSync(descriptor)
  }
  const applicationId = header.readUInt32BE(68)
  if (applicationId === COPY_APPLICATION_ID) return 'copy'
  return applicationId === APPLICATION_ID ? 'mirror' : 'foreign'
}
