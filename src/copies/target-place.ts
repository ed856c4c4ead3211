import { lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isPostgres } from '../address/mirror-address.ts'
import { UsageError } from '../errors/errors.ts'
import { isMissing } from '../machine/folders.ts'
import { kindOfFile } from './file-kind.ts'

/** File systems allow 255 bytes; the names of unfinished and of older files are longer than the one that is named. */
const LONGEST_NAME = 200

/** What SQLite may keep beside a file while it is open. */
export const JOURNALS = ['-journal', '-wal', '-shm'] as const

/** What a file is made from, and must not replace, and a name to propose where a folder was named. */
type Sources = {
  mirror: string
  example: string
  /** Why it must not be the mirror. */
  ofMirror?: string
  /** The configuration that was read; undefined where none was. */
  configuration?: string | undefined
  /** What may be named instead of a link or a device. */
  instead?: string
}

/**
 * Throws UsageError unless `file` is the place of a file, or free for one, and neither the mirror, the configuration nor a part of any
 * database; and the error of the system.
 */
export function requirePlace(
  file: string,
  { mirror, example, ofMirror = 'is the mirror itself; name another file', configuration, instead = '' }: Sources,
): void {
  const isFolder = `is a folder; name a file in it, e.g. ${join(file, example)}`
  if (/[/\\]$/.test(file) || ['', '.', '..'].includes(basename(file))) throw refused(file, isFolder)
  if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
    throw refused(file, `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the names beside it`)
  if (isTheMirror(file, mirror)) throw refused(file, ofMirror)
  if (configuration !== undefined && isSame(file, configuration))
    throw refused(file, 'is the configuration; name another file')
  if (isPlaceOfJournal(file)) throw refused(file, 'is where SQLite keeps a part of a database; name another file')
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found?.isSymbolicLink() === true) throw refused(file, `is a symbolic link; name the file itself${instead}`)
  if (found?.isDirectory() === true) throw refused(file, isFolder)
  if (found !== undefined && !found.isFile())
    throw refused(file, `is not a file; name a file${instead === '' ? ' that may be replaced' : instead}`)
}

/** Throws UsageError unless a text may be written to `file`: where it is there, it is no database. Throws the error of the system, too. */
export function requireTextPlace(file: string, sources: Sources): void {
  // The system says what is wrong with the path, before a mirror in PostgreSQL is copied to be read.
  if (!/[/\\]$/.test(file)) statSync(`${dirname(file)}/.`)
  requirePlace(file, sources)
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return
  // All of a database that is open may be in its journal.
  const hasJournal = ['-wal', '-journal'].some((ending) => lstatSync(file + ending, { throwIfNoEntry: false }))
  if (hasJournal || !['empty', 'foreign'].includes(kindOfFile(file)))
    throw refused(file, 'is a database; name another file')
}

/** Throws UsageError for a folder in which other users could replace what is written there: a backup, an export or a copy. */
export function requireOwnFolder(folder: string, what: string): void {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw refused(folder, `is not a folder, so no ${what} can be put there`)
  if ((found.mode & 0o022) !== 0)
    throw refused(
      folder,
      `users besides its owner may write there, and could replace the ${what}. Name a folder of its own, or take that right from ` +
        `them: chmod go-w ${folder}`,
    )
}

/** Throws UsageError where a journal of another database stands beside the file, which `who` would take for one of it. */
export function requireNoJournals(file: string, who: string): void {
  for (const ending of JOURNALS)
    if (lstatSync(file + ending, { throwIfNoEntry: false }) !== undefined)
      throw refused(
        file,
        `has ${basename(file)}${ending} beside it, which ${who} would take for its own; move that away`,
      )
}

/** By its name, by a link to it, or by the names of what SQLite keeps beside it. */
export function isTheMirror(file: string, mirror: string): boolean {
  if (isPostgres(mirror) || isMissing(mirror)) return false
  const real = realpathSync(mirror)
  const folder = realFolder(dirname(file))
  const place = folder === undefined ? file : join(folder, basename(file))
  return isSame(file, real) || ['', ...JOURNALS].some((ending) => place === real + ending)
}

/** Whether both names lead to one file. */
export function isSame(file: string, other: string): boolean {
  const [one, two] = [file, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return one !== undefined && one.dev === two?.dev && one.ino === two.ino
}

function realFolder(folder: string): string | undefined {
  try {
    return realpathSync(folder)
  } catch {
    return undefined
  }
}

export function refused(file: string, what: string): UsageError {
  return new UsageError(`${file}: ${what}.`)
}

/** Whether a file of this name would be taken for the journal of a database that is beside it. */
function isPlaceOfJournal(file: string): boolean {
  const [, database] = /^(.*[^/\\])-(?:wal|shm|journal)$/s.exec(file) ?? []
  if (database === undefined || statSync(database, { throwIfNoEntry: false })?.isFile() !== true) return false
  // All of a database may be in its journal until now.
  return kindOfFile(database) !== 'foreign'
}
