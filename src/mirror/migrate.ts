import type Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { fingerprintKey } from './fingerprint-key.ts'

/** The migrations in order; a file's place here is the `user_version` it leads to. */
const MIGRATIONS = [
  '0001-initial.sql',
  '0002-scan.sql',
  '0003-remembered-pages.sql',
  '0004-remembered-rows.sql',
  '0005-trust.sql',
  '0006-lists.sql',
]

export const LATEST_VERSION = MIGRATIONS.length

/** Applies the migrations the database has not seen yet, and gives it its key. The caller holds the transaction. */
export function migrate(db: Database.Database): void {
  const version = Number(db.pragma('user_version', { simple: true }))
  for (const name of MIGRATIONS.slice(version)) {
    db.exec(readFileSync(new URL(`migrations/${name}`, import.meta.url), 'utf8'))
  }
  fingerprintKey(db)
  if (version < LATEST_VERSION) db.pragma(`user_version = ${LATEST_VERSION}`)
}
