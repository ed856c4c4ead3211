import type { Contents, Organizations, Renamed } from '../../../organizations.ts'
import type { Database, Session } from '../session.ts'
import { forgetOrganization } from './forget.ts'
import { hasRows, listNames } from './organization-rows.ts'
import { renameOrganization } from './rename.ts'
import { retireOrganization } from './retire.ts'

/** The organizations of a mirror, as a whole. */
export function organizationsIn(database: Database): Organizations {
  return {
    list: () => database.read(listNames),
    rename: (names, { nowMs }) =>
      database.write(
        (session) => renameOrganization(session, names, nowMs),
        names,
        (session, renamed) => holds(session, names.to, renamed),
      ),
    retire: (organization, clocks) =>
      database.write(
        (session) => retireOrganization(session, organization, clocks.nowMs),
        clocks,
        (session) => hasRows(session, ['retired_organizations'], organization),
      ),
    contents: (organization) => database.read((session) => contentsOf(session, organization)),
    isUnfinished: (organization) => database.read((session) => hasRows(session, ['unfinished_forgets'], organization)),
    forget: (organization) => forgetOrganization(database, organization),
    close: () => database.close(),
  }
}

/** Whether all that was renamed has the new name, which nothing but reports of failed runs had before. */
async function holds(session: Session, organization: string, { customers, changes, runs }: Renamed): Promise<boolean> {
  const found = await contentsOf(session, organization)
  return found.customers >= customers && found.changes >= changes && found.runs >= runs
}

/** What the mirror holds of an organization. */
async function contentsOf(session: Session, organization: string): Promise<Contents> {
  const count = (table: keyof Contents) => `(SELECT count(*) FROM ${table} WHERE organization = $1) AS ${table}`
  const counts = (['customers', 'changes', 'runs', 'rejects', 'forgotten'] as const).map(count).join(', ')
  const contents = await session.first<Contents>(`SELECT ${counts}`, organization)
  return contents ?? { customers: 0, changes: 0, runs: 0, rejects: 0, forgotten: 0 }
}
