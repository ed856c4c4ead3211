import Database from 'better-sqlite3'
import { connect } from '../../mirror/sqlite/opening/connect.ts'
import { attachReadOnly } from '../../mirror/sqlite/opening/read-only-file.ts'
import { isOfSqlite, seenIn } from '../../errors/faults.ts'
import { sqliteError } from '../../mirror/sqlite/opening/file-errors.ts'
import { copyFault } from '../files/copy-error.ts'
import { addIndexes } from './copy-indexes.ts'
import { copyTables } from './copy-tables.ts'
import { COPY_APPLICATION_ID } from '../file-kind.ts'
import { digestRows, fillManifest, organizationsInManifest } from './manifest.ts'
import { listNeverRead } from '../organizations/listed-organizations.ts'
import { writeWithoutWaiting } from '../unfinished-database.ts'
import type { LeftOut, PublishedCopy } from './publish-plan.ts'

export type CopySettings = {
  mirror: string
  /** Only the rows of this organization; undefined for those of all. */
  organization: string | undefined
  /** The organizations of the configuration, which the mirror may not know yet. */
  organizations: readonly string[]
  withoutPersonalData: boolean
}

export type BuiltCopy = Pick<PublishedCopy, 'publishedAt' | 'organizations'> & { leftOut: LeftOut[] }

/** How much of the file is kept in memory while it is made, in KB. */
const CACHE_KB = 16_000

/**
 * Fills the empty file at `path` with one state of the mirror, as SQLite reads it anywhere: no WAL, nothing beside it. Rows go
 * from file to file within SQLite, in one read transaction that ends before indexes and digests are made, because a long one
 * holds up the WAL of the mirror. Memory is bounded, whatever the number of rows.
 */
export function buildCopy(path: string, settings: CopySettings): BuiltCopy {
  // Made anew here, it would have another group and another mode.
  const db = connect(path, { fileMustExist: true })
  try {
    writeWithoutWaiting(db)
    db.pragma(`main.cache_size = -${CACHE_KB}`)
    db.pragma(`main.application_id = ${COPY_APPLICATION_ID}`)
    const facts = copyRows(db, settings)
    addIndexes(db)
    digestRows(db)
    db.exec('ANALYZE')
    requireSound(db, path)
    return { ...facts, organizations: organizationsInManifest(db) }
  } finally {
    db.close()
  }
}

function copyRows(db: Database.Database, settings: CopySettings): Omit<BuiltCopy, 'organizations'> {
  try {
    attachReadOnly(db, settings.mirror, 'mirror')
    const facts = db.transaction(() => {
      const leftOut = settings.organization === undefined ? listNeverRead(db, settings) : []
      copyTables(db, { ...settings, leftOut })
      return { leftOut, ...fillManifest(db, leftOut) }
    })()
    db.exec('DETACH mirror')
    return facts
  } catch (error) {
    // What is not about room is about the mirror.
    throw isOfSqlite(error) && seenIn(error)?.fault !== 'full' ? sqliteError(error, settings.mirror) : error
  }
}

function requireSound(db: Database.Database, path: string): void {
  const found = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().get()
  if (found === 'ok') return
  throw copyFault(path, { fault: 'full', said: `the new copy was damaged while it was written (${found})` })
}
