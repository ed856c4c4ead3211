import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { makeFolder } from '../../make-folder.ts'
import { isTheMirror } from '../publish/copy-target.ts'
import { kindOfFile } from '../file-kind.ts'
import { isPlaceOfJournal } from '../journal-place.ts'
import { backupTakenAt } from './backup-mark.ts'
import { JOURNALS } from './unfinished-file.ts'

/** File systems allow 255 bytes; the names of unfinished and of older backups are longer than that of the backup. */
const LONGEST_NAME = 200

/** Throws UsageError unless `file` is free, or a backup made by this program. */
export function requireBackupTarget(file: string, mirror: string): void {
  const example = join(file, 'customers.db')
  if (/[/\\]$/.test(file) || ['', '.', '..'].includes(basename(file)))
    throw refused(file, `is a folder; name a file in it, e.g. ${example}`)
  if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
    throw refused(file, `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the names beside it`)
  if (isTheMirror(file, mirror)) throw refused(file, 'is the mirror itself; name another file')
  if (isPlaceOfJournal(file)) throw refused(file, 'is where SQLite keeps a part of a database; name another file')
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found?.isSymbolicLink() === true) throw refused(file, 'is a symbolic link; name the file itself')
  if (found?.isDirectory() === true) throw refused(file, `is a folder; name a file in it, e.g. ${example}`)
  if (found !== undefined && !found.isFile()) throw refused(file, 'is not a file; name a file that may be replaced')
  for (const ending of JOURNALS)
    if (lstatSync(file + ending, { throwIfNoEntry: false }) !== undefined)
      throw refused(
        file,
        `has ${basename(file)}${ending} beside it, which SQLite would take for its own; move that away`,
      )
  if (found === undefined || kindOfFile(file) === 'empty' || backupTakenAt(file) !== undefined) return
  throw refused(
    file,
    'is there already, and is not a backup made by this command. It was left as it is; name another file',
  )
}

/** Makes the folder of a backup where it is missing, 0700. */
export function prepareBackupFolder(file: string): void {
  makeFolder(dirname(file))
}

function refused(file: string, what: string): UsageError {
  return new UsageError(`${file}: ${what}.`)
}
