import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { BUSY_TIMEOUT_MS } from '../mirror/sqlite/opening/connect.ts'
import { MirrorUnusable } from '../errors/errors.ts'
import type { Connection } from '../mirror/sqlite/opening/database.ts'
import { fileError } from '../mirror/sqlite/opening/file-errors.ts'
import { APPLICATION_ID, refuseNewer } from '../mirror/sqlite/opening/file-mark.ts'
import { requireRegularFile } from '../mirror/sqlite/opening/regular-file.ts'
import {
  isForWantOfJournals,
  journalsOf,
  openPrivateCopy,
  openReadOnly,
  stateOf,
  writtenMeanwhile,
} from '../mirror/sqlite/opening/unwritable-file.ts'
import { COPY_APPLICATION_ID } from './file-kind.ts'

/** A mirror, or a published copy, that is open to read only. */
export type OpenedToRead = {
  db: Connection
  /** Throws MirrorUnusable `mirror-locked` if what was read until now may not belong together. */
  requireUnchanged(): void
  close(): void
}

/**
 * Opens the mirror or copy at `file`, an absolute path, and changes neither it nor its folder. A file in WAL mode in a folder
 * that this user cannot write is read in place when it has no journal, and otherwise from a private copy, which is deleted
 * at once. Throws MirrorUnusable. To read in place needs a process that was started with `SQLITE_USE_URI=1`.
 */
export function openToRead(file: string): OpenedToRead {
  try {
    const real = existingFile(file)
    const opened = openAnywhere(real)
    try {
      opened.db.defaultSafeIntegers()
      for (const setting of ['query_only = ON', 'trusted_schema = OFF', 'cache_size = -16000'])
        opened.db.pragma(setting)
      requireMirror(opened.db, file)
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  } catch (error) {
    throw fileError(error, file)
  }
}

/** The file itself, where journals lie beside it, and not a link to it. */
function existingFile(file: string): string {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) throw missing(file)
  requireRegularFile(file)
  const real = realpathSync(file)
  accessSync(real, constants.R_OK)
  return real
}

function missing(file: string): MirrorUnusable {
  return new MirrorUnusable(
    `${file}: there is no mirror yet. Run 'customer-mirror sync' to make it, or name another file.`,
    { code: 'missing' },
  )
}

function openAnywhere(file: string): OpenedToRead {
  try {
    return asOpened(openReadOnly(file, BUSY_TIMEOUT_MS))
  } catch (error) {
    if (!isForWantOfJournals(error)) throw error
    return journalsOf(file).length === 0 ? openInPlace(file) : asOpened(openPrivateCopy(file, BUSY_TIMEOUT_MS))
  }
}

function asOpened(db: Connection): OpenedToRead {
  return { db, requireUnchanged: () => {}, close: () => db.close() }
}

/** Without locks, as if the file never changed; whether it did is found out afterwards. */
function openInPlace(file: string): OpenedToRead {
  const before = stateOf(file)
  const db = openReadOnly(`${pathToFileURL(file).href}?immutable=1`, BUSY_TIMEOUT_MS)
  return {
    db,
    requireUnchanged() {
      if (stateOf(file) !== before) throw writtenMeanwhile(file)
    },
    close: () => db.close(),
  }
}

function requireMirror(db: Connection, file: string): void {
  const applicationId = Number(db.pragma('application_id', { simple: true }))
  if (applicationId === APPLICATION_ID) refuseNewer(db, file)
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) throw missing(file)
  if (applicationId !== APPLICATION_ID && applicationId !== COPY_APPLICATION_ID)
    throw new MirrorUnusable(`${file}: is a SQLite file, but not a mirror of ours. Name another file.`, {
      code: 'foreign',
    })
}
