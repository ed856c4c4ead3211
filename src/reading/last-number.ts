import type Database from 'better-sqlite3'
import { hasTable } from './has-table.ts'

/** The last number that SQLite gave to a row of a table, also where that row was deleted; 0 where there was none. */
export function lastNumber(db: Database.Database, table: string): number {
  if (!hasTable(db, 'sqlite_sequence')) return 0
  return Number(db.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table) ?? 0)
}
