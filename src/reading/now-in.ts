import type Database from 'better-sqlite3'

/** This moment, as the mirror writes times. */
export function nowIn(db: Database.Database): string {
  return db.prepare<[], string>(`SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')`).pluck().get() ?? ''
}
