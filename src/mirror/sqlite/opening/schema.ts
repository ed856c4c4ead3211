import type Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { incomplete, namesIn, otherVersion, VERSION } from '../../sql/schema.ts'

/** `CMIR`: identifies the SQLite file, also for the command `file`. */
export const APPLICATION_ID = 0x434d4952

/** Makes a mirror in an empty database. The caller holds the transaction. */
export function makeSchema(db: Database.Database): void {
  db.exec(schema())
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma(`user_version = ${VERSION}`)
}

/** Throws MirrorUnusable `version` for a mirror that another version of this program made. */
export function requireVersion(db: Database.Database, file: string): void {
  const version = versionOf(db)
  if (version !== VERSION) throw otherVersion(file, version)
}

/** Throws MirrorUnusable `damaged` for a mirror of which someone dropped a table, a view or a trigger. */
export function requireWhole(db: Database.Database, file: string): void {
  const missing = missingIn(db)
  if (missing.length > 0) throw incomplete(file, missing)
}

/** Whether this program can read all of the mirror. */
export function isWhole(db: Database.Database): boolean {
  return versionOf(db) === VERSION && missingIn(db).length === 0
}

export function isEmpty(db: Database.Database): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
}

/** The `user_version` of the file: 0 in one that is new. */
export function versionOf(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function missingIn(db: Database.Database): string[] {
  const held = new Set(db.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all())
  names ??= namesIn(schema())
  return names.filter((name) => !held.has(name))
}

/** What the schema makes: a process reads it once. */
let names: readonly string[] | undefined

function schema(): string {
  return readFileSync(new URL('../schema.sql', import.meta.url), 'utf8')
}
