import { statSync } from 'node:fs'
import { isOfSqlite, readHeader } from '../sqlite-header.ts'

/** Whether a file of this name would be taken for the journal of a database that is beside it. */
export function isPlaceOfJournal(file: string): boolean {
  const [, database] = /^(.*[^/\\])-(?:wal|shm|journal)$/s.exec(file) ?? []
  if (database === undefined) return false
  const found = statSync(database, { throwIfNoEntry: false })
  // All of a database may be in its journal until now.
  return found?.isFile() === true && (found.size === 0 || isOfSqlite(readHeader(database)))
}
