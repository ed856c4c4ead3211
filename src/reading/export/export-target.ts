import { lstatSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { UsageError } from '../../errors/errors.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { isPlaceOfJournal, isSame, isTheMirror, LONGEST_NAME, refused } from '../files/target-place.ts'
import { isOfSqlite, readHeader } from '../sqlite-header.ts'
import { atPlace } from '../files/copy-error.ts'

/** What an export was made from, and must not replace. */
type Sources = {
  mirror: string
  /** The configuration that was read; undefined where none was. */
  configuration?: string | undefined
  /** The name of a file to propose where a folder was named. */
  example?: string
}

/**
 * Throws UsageError unless `file` is free, or a file that an export may replace: no folder, no link, no database, no journal of one.
 * Throws ExportFailed for a place that cannot be reached.
 */
export function requireReplaceable(file: string, { mirror, configuration, example = 'customers.csv' }: Sources): void {
  atPlace(file, () => {
    if (/[/\\]$/.test(file)) throw isFolder(file, example)
    if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
      throw refused(
        file,
        `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the name beside it`,
      )
    // The system says what is wrong with the path, before a mirror in PostgreSQL is copied to be read.
    statSync(`${dirname(file)}/.`)
    if (!isMissing(mirror) && isTheMirror(file, mirror)) throw refused(file, 'is the mirror itself; name another file')
    if (configuration !== undefined && isSame(file, configuration))
      throw refused(file, 'is the configuration; name another file')
    if (isPlaceOfJournal(file)) throw refused(file, 'is where SQLite keeps a part of a database; name another file')
    requireFile(file, example)
  })
}

function requireFile(file: string, example: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) throw isFolder(file, example)
  if (found.isSymbolicLink()) throw refused(file, 'is a symbolic link; name the file itself, or - for standard output')
  if (!found.isFile()) throw refused(file, 'is not a file; name a file, or - for standard output')
  // All of a database that is open may be in its journal.
  const hasJournal = ['-wal', '-journal'].some((ending) => lstatSync(file + ending, { throwIfNoEntry: false }))
  if (hasJournal || isOfSqlite(readHeader(file))) throw refused(file, 'is a database; name another file')
}

function isFolder(file: string, example: string): UsageError {
  return refused(file, `is a folder; name a file in it, e.g. ${join(file, example)}`)
}
