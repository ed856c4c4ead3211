import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { kindOfFile } from '../file-kind.ts'
import { flushFolder } from '../replace-copy.ts'
import { exportError } from './export-error.ts'

/** An export that is being written under a private name beside the file that it will replace. */
export type UnfinishedExport = {
  path: string
  /** Puts it on the disk and then in its place. */
  finish(): void
  /** Removes what was not put in its place. */
  remove(): void
}

/** File systems allow 255 bytes; the name of an unfinished export is longer than its own. */
const LONGEST_NAME = 200

/**
 * Makes an empty private file (0600) beside `file`. Throws UsageError where `file` may not be replaced, and ExportFailed where
 * this user cannot write there.
 */
export function unfinishedExport(file: string, mirror: string): UnfinishedExport {
  const path = join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.exporting`)
  const remove = () => rmSync(path, { force: true })
  try {
    requireReplaceable(file, mirror)
    closeSync(openSync(path, 'wx', 0o600))
    chmodSync(path, 0o600)
  } catch (error) {
    throw exportError(error, file)
  }
  return {
    path,
    finish() {
      try {
        flush(path)
        renameSync(path, file)
        flushFolder(dirname(file))
      } catch (error) {
        throw exportError(error, file)
      }
    },
    remove,
  }
}

/** Throws UsageError unless `file` is free, or a file that an export may replace: no folder, no link, no database. */
function requireReplaceable(file: string, mirror: string): void {
  if (/[/\\]$/.test(file)) throw isFolder(file)
  if (Buffer.byteLength(basename(file)) > LONGEST_NAME)
    throw refused(file, `has a name that is too long; at most ${LONGEST_NAME} bytes leave room for the name beside it`)
  if (isPlaceOfMirror(file, mirror)) throw refused(file, 'is the mirror itself; name another file')
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) throw isFolder(file)
  if (found.isSymbolicLink()) throw refused(file, 'is a symbolic link; name the file itself, or - for standard output')
  if (!found.isFile()) throw refused(file, 'is not a file; name a file, or - for standard output')
  const kind = kindOfFile(file)
  if (kind === 'mirror') throw refused(file, 'is a mirror; name another file')
  if (kind === 'copy') throw refused(file, 'is a published copy of a mirror; name another file')
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

function isFolder(file: string): UsageError {
  return refused(file, `is a folder; name a file in it, e.g. ${join(file, 'customers.csv')}`)
}

function refused(file: string, what: string): UsageError {
  return new UsageError(`${file}: ${what}.`)
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
