import Database from 'better-sqlite3'
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
    if (error.code === 'mirror-missing')
      throw new MirrorUnusable(`${file}: holds nothing. Nothing was restored; name a backup.`, { code: 'missing' })
    if (error.code === 'mirror-corrupt') throw damagedBackup(file, [causeOf(error)])
    if (error.cause instanceof Database.SqliteError && error.cause.code === 'SQLITE_NOTADB')
      throw new MirrorUnusable(`${file}: is not a SQLite file, or is encrypted. Nothing was restored; name a backup.`, {
        code: 'foreign',
      })
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
    { code: 'corrupt' },
  )
}
