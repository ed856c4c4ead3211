import type Database from 'better-sqlite3'

/** An organization that neither the mirror nor the configuration knows, and those that the mirror knows. */
export type UnknownOrganization = { organization: string; known: string[] }

/** Every organization that was ever mirrored. */
export function mirroredIn(db: Database.Database): string[] {
  return db.prepare<[], string>('SELECT DISTINCT organization FROM runs ORDER BY 1').pluck().all()
}
