import { linkSync, renameSync, rmSync } from 'node:fs'
import { listOlder, olderName, timeIn } from '../dated-name.ts'
import { backupTakenAt } from './backup-mark.ts'
import { codeOf } from '../../errors/code-of.ts'

/**
 * Gives the backup that is about to be replaced a name with the moment of which it is, such as
 * `customers-20261122T021500123Z.db`. Nothing happens where there is no backup yet, or where it has that name already.
 */
export function keepOlderBackup(file: string): void {
  const time = timeIn(backupTakenAt(file))
  if (time === undefined) return
  const older = olderName(file, time)
  try {
    linkSync(file, older)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    // A file system without hard links, such as those of many network shares and memory sticks.
    renameSync(file, older)
  }
}

/** Removes the oldest backups so that `keep` are left, `file` among them. Returns what was removed. Other files are left as they are. */
export function pruneOlderBackups(file: string, keep: number): string[] {
  const older = listOlder(file).filter((path) => backupTakenAt(path) !== undefined)
  const tooMany = older.slice(0, Math.max(0, older.length - (keep - 1)))
  for (const path of tooMany) rmSync(path, { force: true })
  return tooMany
}
