import type { Database } from 'better-sqlite3'
import { readFileSync } from 'node:fs'

/** Sentences about the mirror's views that are not there. */
export function damagedViews(db: Database): string[] {
  return missingViews(db).map((name) => `the view ${name} is not there; the next sync makes it anew`)
}

function missingViews(db: Database): string[] {
  return db.prepare<[], string>(MISSING).pluck().all()
}

const MISSING = `
  SELECT value FROM json_each('["active_customers", "customers_daily", "customers_history", "freshness"]')
  WHERE value NOT IN (SELECT name FROM sqlite_schema)`

/** Makes the views that are not there, as a new mirror has them. */
export function makeMissingViews(db: Database): void {
  const missing = missingViews(db)
  if (missing.length === 0) return
  const made = readFileSync(new URL('new-mirror.sql', import.meta.url), 'utf8')
  for (const [sql, name = ''] of made.matchAll(/^CREATE VIEW (\w+) AS\n[^]*?;$/gm))
    if (missing.includes(name)) db.exec(sql)
}
