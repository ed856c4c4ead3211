import type Database from 'better-sqlite3'

/** Whether the open file itself, not one attached to it, has a table or view of this name. */
export function hasTable(db: Database.Database, name: string): boolean {
  return db.prepare('SELECT 1 FROM main.sqlite_schema WHERE name = ?').get(name) !== undefined
}
