import type Database from 'better-sqlite3'
import { inMirrorFile } from '../in-mirror-file.ts'
import type { LeftOut } from '../publish/publish-plan.ts'

/**
 * The organizations of which the mirror has read the list to its end at least once. Throws MirrorUnusable for a mirror that
 * cannot be read.
 */
export function listReadOrganizations(mirror: string): string[] {
  return inMirrorFile(mirror, readOrganizationsIn)
}

/** The same of an open mirror. */
export function readOrganizationsIn(db: Database.Database): string[] {
  const sql = 'SELECT organization FROM freshness WHERE read_as_of NOT NULL ORDER BY organization'
  return db.prepare<[], string>(sql).pluck().all()
}

/** All other organizations, of the attached mirror and of the configuration. */
export function listNeverRead(
  db: Database.Database,
  { organizations }: { organizations: readonly string[] },
): LeftOut[] {
  const sql = `
    SELECT organization FROM mirror.freshness WHERE read_as_of IS NULL
    UNION SELECT value FROM json_each(?) WHERE value NOT IN (SELECT organization FROM mirror.runs)
    ORDER BY 1`
  const ids = db.prepare<[string], string>(sql).pluck().all(JSON.stringify(organizations))
  return ids.map((organization) => ({ organization, reason: 'never-read' }))
}
