import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** Whether a file of this name would be taken for the journal of a database that is beside it. */
export function isPlaceOfJournal(file: string): boolean {
  const [, database] = /^(.*[^/\\])-(?:wal|shm|journal)$/s.exec(file) ?? []
  if (database === undefined) return false
  const found = statSync(database, { throwIfNoEntry: false })
  // All of a database may be in its journal until now.
  return found?.isFile() === true && (found.size === 0 || isDatabase(database))
}

/** Whether a file, which is there, begins as those of SQLite do. */
export function isDatabase(file: string): boolean {
  const header = Buffer.alloc(16)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, header, 0, header.length, 0)
    return header.toString('latin1') === 'SQLite format 3\0'
  } finally {
    closeSync(descriptor)
  }
}
