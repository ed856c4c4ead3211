import { isOfSqlite, seenIn } from '../../errors/faults.ts'
import { MirrorUnusable } from '../../errors/errors.ts'
import { isMirror } from '../file-kind.ts'
import { openToRead, type OpenedToRead } from '../open-to-read.ts'

/** Opens a backup to read only. Throws MirrorUnusable for a file that is none, or that is damaged. */
export function openBackup(file: string): OpenedToRead {
  const opened = openAny(file)
  if (isMirror(opened.db)) return opened
  opened.close()
  throw new MirrorUnusable(
    `${file}: is a copy for readers, which lacks what runs need. Name a backup; without one, move the mirror away and sync anew.`,
    { code: 'foreign' },
  )
}

/** What a mirror lacks is said of mirrors, with advice that would not help here. */
function openAny(file: string): OpenedToRead {
  try {
    return openToRead(file)
  } catch (error) {
    if (!(error instanceof MirrorUnusable)) throw error
    if (error.code === 'missing')
      throw new MirrorUnusable(`${file}: holds nothing. Nothing was restored; name a backup.`, { code: 'missing' })
    if (error.code === 'damaged') throw damagedBackup(file, [causeOf(error)])
    throw error
  }
}

function causeOf({ cause, message }: Error): string {
  return cause instanceof Error ? cause.message : message
}

/** The error of a backup in which this is damaged. */
export function damagedBackup(file: string, [first = 'rows are missing']: readonly string[]): MirrorUnusable {
  return new MirrorUnusable(
    `${file}: is damaged, or a disk failed while it was read (${first}). Nothing was restored; the mirror is as it was. Check the disk, or name an older backup.`,
    { code: 'damaged' },
  )
}

/** Whether SQLite found the file damaged, or to be no database. */
export function isDamage(error: unknown): error is Error {
  return isOfSqlite(error) && ['damaged', 'foreign'].includes(seenIn(error)?.fault ?? '')
}
