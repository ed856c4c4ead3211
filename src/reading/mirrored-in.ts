import type Database from 'better-sqlite3'

/** Every organization that was ever mirrored. */
export function mirroredIn(db: Database.Database): string[] {
  return db.prepare<[], string>('SELECT DISTINCT organization FROM runs ORDER BY 1').pluck().all()
}
