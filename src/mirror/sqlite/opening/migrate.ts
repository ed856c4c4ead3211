import { readFileSync } from 'node:fs'
import { noteAdditions } from '../run/additions.ts'
import type { Connection } from './database.ts'
import { fingerprintKey } from '../fingerprint-key.ts'
import { makeMissingViews } from './missing-views.ts'
import { createReadingIndexes } from '../reading/reading-indexes.ts'

/** The migrations in order; a file's place here is the `user_version` after it. */
const MIGRATIONS = [
  '0001-initial.sql',
  '0002-scan.sql',
  '0003-remembered-pages.sql',
  '0004-remembered-rows.sql',
  '0005-trust.sql',
  '0006-lists.sql',
  '0007-reading.sql',
  '0008-privacy.sql',
  '0009-organizations.sql',
  '0010-forgotten.sql',
  '0011-retention.sql',
  '0012-order-facts.sql',
  '0013-settled.sql',
  '0014-quick-runs.sql',
  '0015-full-runs.sql',
  '0016-history.sql',
]

export const LATEST_VERSION = MIGRATIONS.length

/** Applies the missing migrations, and creates the key and views that were dropped. The caller holds the transaction. */
export function migrate(db: Connection): void {
  const version = versionOf(db)
  // The migrations leave a new file the same, in four times the time.
  const isNew = version === 0 && isEmpty(db)
  if (isNew) db.exec(script('new-mirror.sql'))
  else if (version < LATEST_VERSION) {
    const putBackAdditions = noteAdditions(db, MIGRATIONS.slice(0, version).map(migration).join('\n'))
    for (const name of MIGRATIONS.slice(version)) db.exec(migration(name))
    putBackAdditions()
    createReadingIndexes(db)
  }
  makeMissingViews(db)
  fingerprintKey(db)
  if (version < LATEST_VERSION) db.pragma(`user_version = ${LATEST_VERSION}`)
}

/** Makes the tables that a mirror of this version has, in an empty database. The caller holds the transaction. */
export function makeTables(db: Connection, version: number): void {
  for (const name of MIGRATIONS.slice(0, version)) db.exec(migration(name))
  db.pragma(`user_version = ${version}`)
}

export function isEmpty(db: Connection): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
}

export function versionOf(db: Connection): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function migration(name: string): string {
  return script(`migrations/${name}`)
}

function script(name: string): string {
  return readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
}
