import { closeSync, lstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { exportError } from './export-error.ts'

/** File systems allow 255 bytes; the name of an unfinished export is longer than its own. */
const LONGEST_NAME = 200

/**
 * Throws UsageError unless `file` is free, or a file that an export may replace: no folder, no link, no database. Throws ExportFailed
 * for a place that cannot be reached. `example` is the name of a file to propose where a folder was named.
 */
export function requireReplaceable(file: string, mirror: string, example = 'customers.csv'): void {
  try {
    if (/[/\\]$/.test(file)) throw isFolder(file, example)
    if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
      throw refused(
        file,
        `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the name beside it`,
      )
    if (isPlaceOfMirror(file, mirror)) throw refused(file, 'is the mirror itself; name another file')
    requireFile(file, example)
  } catch (error) {
    throw exportError(error, file)
  }
}

function requireFile(file: string, example: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) throw isFolder(file, example)
  if (found.isSymbolicLink()) throw refused(file, 'is a symbolic link; name the file itself, or - for standard output')
  if (!found.isFile()) throw refused(file, 'is not a file; name a file, or - for standard output')
  // All of a database that is open may be in its journal.
  const hasJournal = ['-wal', '-journal'].some((ending) => lstatSync(file + ending, { throwIfNoEntry: false }))
  if (hasJournal || isDatabase(file)) throw refused(file, 'is a database; name another file')
}

/** By its name, by a link to it, or by the names of what SQLite keeps beside it. */
function isPlaceOfMirror(file: string, mirror: string): boolean {
  const opened = statSync(mirror, { bigint: true, throwIfNoEntry: false })
  if (opened === undefined) return false
  const real = realpathSync(mirror)
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (found !== undefined && found.dev === opened.dev && found.ino === opened.ino) return true
  const place = join(realpathSync(dirname(file)), basename(file))
  return ['', '-wal', '-shm', '-journal'].some((ending) => place === real + ending)
}

function isDatabase(file: string): boolean {
  const header = Buffer.alloc(16)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, header, 0, header.length, 0)
    return header.toString('latin1') === 'SQLite format 3\0'
  } finally {
    closeSync(descriptor)
  }
}

function isFolder(file: string, example: string): UsageError {
  return refused(file, `is a folder; name a file in it, e.g. ${join(file, example)}`)
}

function refused(file: string, what: string): UsageError {
  return new UsageError(`${file}: ${what}.`)
}
