import type { Connection } from '../opening/database.ts'
import { statement } from '../statement.ts'

/** Since when the organization is retired, in the mirror's form; undefined if it is not. */
export function retirementOf(db: Connection, organization: string): string | undefined {
  const find = statement<[string], string>(db, 'SELECT retired_at FROM retired_organizations WHERE organization = ?')
  return find.pluck().get(organization)
}

/** Notes since when the organization is retired. */
export function noteRetirement(db: Connection, organization: string, retiredAt: string): void {
  statement(db, 'INSERT INTO retired_organizations (organization, retired_at) VALUES (?, ?)').run(
    organization,
    retiredAt,
  )
}

/** The organization is mirrored again. */
export function endRetirement(db: Connection, organization: string): void {
  statement(db, 'DELETE FROM retired_organizations WHERE organization = ?').run(organization)
}
