import type Database from 'better-sqlite3'

/** The last number that SQLite gave to a row of a table, also where that row was deleted; 0 where there was none. */
export function lastNumber(db: Database.Database, table: string): number {
  return Number(db.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table) ?? 0)
}
