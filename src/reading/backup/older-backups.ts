import { lstatSync } from 'node:fs'
import { listOlder, olderName, timeIn, tooManyOlder } from '../files/dated-name.ts'
import { afterPlacing } from '../files/copy-error.ts'
import { removeFile } from '../files/remove-file.ts'
import { giveSecondName, type SecondName } from '../files/second-name.ts'
import { backupTakenAt } from './backup-mark.ts'
import { codeOf } from '../../errors/faults.ts'

/**
 * Gives the backup at `file`, which is about to be replaced, a name with the moment of which it is, such as
 * `customers-20261122T021500123Z.db`, or with that of its file where a failing disk does not let it say. Returns it; nothing where there is
 * no backup yet, or where it has that name already.
 */
export function keepOlderBackup(file: string): SecondName[] {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || found.size === 0) return []
  const time = timeIn(backupTakenAt(file)) ?? timeIn(found.mtime.toISOString()) ?? ''
  try {
    return [giveSecondName(file, olderName(file, time))]
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return []
    throw error
  }
}

/**
 * Removes the oldest backups so that `keep` are left, `file` among them, which is in its place and of the moment `takenAt`. Returns what
 * was removed. Other files are left as they are. Throws LeftUndone.
 */
export function pruneOlderBackups(
  file: string,
  { takenAt, replaced, keep }: { takenAt: string; replaced: string | undefined; keep: number },
): string[] {
  return afterPlacing('an older one could not be removed', () => {
    const older = listOlder(file).filter((path) => backupTakenAt(path) !== undefined)
    const tooMany = tooManyOlder(older, { file, at: takenAt, replaced, most: keep - 1 })
    tooMany.forEach(removeFile)
    return tooMany
  })
}
