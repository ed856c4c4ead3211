import { lstatSync } from 'node:fs'
import { kindOfFile } from '../file-kind.ts'
import { refused, requireNoJournals, requirePlace } from '../files/target-place.ts'
import { backupTakenAt } from './backup-mark.ts'

/** Throws UsageError unless `file` is free, or a backup made by this program. */
export function requireBackupTarget(file: string, mirror: string): void {
  requirePlace(file, mirror, { example: 'customers.db', ofMirror: 'is the mirror itself; name another file' })
  requireNoJournals(file, 'SQLite')
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined
  if (!isThere || kindOfFile(file) === 'empty' || backupTakenAt(file) !== undefined) return
  throw refused(
    file,
    'is there already, and is not a backup made by this command. It was left as it is; name another file',
  )
}
