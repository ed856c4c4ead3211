import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { mirrorFault, noMirror } from '../errors/faults.ts'
import { COPY_APPLICATION_ID } from './file-kind.ts'
import { BUSY_TIMEOUT_MS, type Connection } from '../store/sqlite/connect.ts'
import { fileError } from '../store/port/sqlite-errors.ts'
import { APPLICATION_ID, isEmpty, requireVersion, versionOf } from '../store/sqlite/open-database.ts'
import { requireRegularFile } from '../store/sqlite/open-file.ts'
import { type OpenedReadOnly, openReadOnly } from '../store/sqlite/read-only-file.ts'

/** A mirror, or a published copy, that is open to read only. */
export type OpenedToRead = OpenedReadOnly & { close(): void }

/** Opens the mirror or copy at `file`, an absolute path, and changes neither it nor its folder. Throws MirrorUnusable. */
export function openToRead(file: string): OpenedToRead {
  try {
    const real = existingFile(file)
    const opened = openReadOnly(real, BUSY_TIMEOUT_MS)
    try {
      opened.db.defaultSafeIntegers()
      for (const setting of ['query_only = ON', 'trusted_schema = OFF', 'cache_size = -16000'])
        opened.db.pragma(setting)
      requireMirror(opened.db, file)
      return { ...opened, close: () => opened.db.close() }
    } catch (error) {
      opened.db.close()
      throw error
    }
  } catch (error) {
    throw fileError(error, file)
  }
}

/** The file itself, where journals lie beside it, and not a link to it. */
function existingFile(file: string): string {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) throw noMirror(file)
  requireRegularFile(file)
  const real = realpathSync(file)
  accessSync(real, constants.R_OK)
  return real
}

function requireMirror(db: Connection, file: string): void {
  const applicationId = Number(db.pragma('application_id', { simple: true }))
  const isMirror = applicationId === APPLICATION_ID
  if (isEmpty(db) && (!isMirror || versionOf(db) === 0)) throw noMirror(file)
  if (isMirror) requireVersion(db, file)
  else if (applicationId !== COPY_APPLICATION_ID)
    throw mirrorFault(file, { fault: 'foreign', said: 'is a SQLite file of another program' })
}
