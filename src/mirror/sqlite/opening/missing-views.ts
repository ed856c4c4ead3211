import type { Database } from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { viewMissing, VIEWS, viewsMadeBy } from '../../sql/views.ts'

/** Sentences about the mirror's views that are not there. */
export function damagedViews(db: Database): string[] {
  return missingViews(db).map((name) => viewMissing(name))
}

function missingViews(db: Database): string[] {
  return db.prepare<[string], string>(MISSING).pluck().all(JSON.stringify(VIEWS))
}

const MISSING = 'SELECT value FROM json_each(?) WHERE value NOT IN (SELECT name FROM sqlite_schema)'

/** Makes the views that are not there, as a new mirror has them. */
export function makeMissingViews(db: Database): void {
  const missing = missingViews(db)
  if (missing.length === 0) return
  const made = viewsMadeBy(readFileSync(new URL('../new-mirror.sql', import.meta.url), 'utf8'))
  for (const name of missing) db.exec(made.get(name) ?? '')
}
