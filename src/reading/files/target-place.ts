import { lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors/errors.ts'
import { isOfSqlite, readHeader } from '../sqlite-header.ts'

/** File systems allow 255 bytes; the names of unfinished and of older files are longer than the one that is named. */
export const LONGEST_NAME = 200

/** What SQLite may keep beside a file while it is open. */
export const JOURNALS = ['-journal', '-wal', '-shm'] as const

/** What is said of a place: a name to propose in a folder, and why it must not be the mirror. */
type Words = { example: string; ofMirror: string }

/** Throws UsageError unless `file` is the place of a file, or free for one, and neither the mirror nor a part of any database. */
export function requirePlace(file: string, mirror: string, { example, ofMirror }: Words): void {
  const isFolder = `is a folder; name a file in it, e.g. ${join(file, example)}`
  if (/[/\\]$/.test(file) || ['', '.', '..'].includes(basename(file))) throw refused(file, isFolder)
  if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
    throw refused(file, `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the names beside it`)
  if (isTheMirror(file, mirror)) throw refused(file, ofMirror)
  if (isPlaceOfJournal(file)) throw refused(file, 'is where SQLite keeps a part of a database; name another file')
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found?.isSymbolicLink() === true) throw refused(file, 'is a symbolic link; name the file itself')
  if (found?.isDirectory() === true) throw refused(file, isFolder)
  if (found !== undefined && !found.isFile()) throw refused(file, 'is not a file; name a file that may be replaced')
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
export function isPlaceOfJournal(file: string): boolean {
  const [, database] = /^(.*[^/\\])-(?:wal|shm|journal)$/s.exec(file) ?? []
  if (database === undefined) return false
  const found = statSync(database, { throwIfNoEntry: false })
  // All of a database may be in its journal until now.
  return found?.isFile() === true && (found.size === 0 || isOfSqlite(readHeader(database)))
}
