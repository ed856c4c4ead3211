import type { Connection } from '../../mirror/database.ts'
import { READ_TO_END } from '../../mirror/stored-runs.ts'
import { UsageError } from '../../errors.ts'
import type { ExportedOrganization } from './format.ts'

/** The organizations to export, and those that are left out, whose list was never read to its end. */
export type SelectedOrganizations = { read: ExportedOrganization[]; neverRead: string[] }

/** An organization that neither the mirror nor the configuration knows, and those that the mirror knows. */
export type UnknownOrganization = { unknown: string; known: string[] }

/** Those named, or all of the mirror. Throws UsageError where none of them was read to its end. */
export function selectOrganizations(
  db: Connection,
  named: readonly string[],
  configured: readonly string[],
): SelectedOrganizations | UnknownOrganization {
  const known = db.prepare<[], string>('SELECT DISTINCT organization FROM runs ORDER BY 1').pluck().all()
  const unknown = named.find((organization) => !known.includes(organization) && !configured.includes(organization))
  if (unknown !== undefined) return { unknown, known }
  const chosen = named.length === 0 ? known : [...new Set(named)]
  const all = db.prepare<[], ExportedOrganization>(READ_ORGANIZATIONS).safeIntegers(false).all()
  const read = all.filter(({ organization }) => chosen.includes(organization))
  const neverRead = chosen.filter((organization) => all.every((one) => one.organization !== organization))
  if (read.length === 0 && neverRead.length > 0)
    throw new UsageError(
      `The list of ${neverRead.slice(0, LISTED).join(', ')}${neverRead.length > LISTED ? ', …' : ''} was never read to its end, ` +
        `so there is nothing whole to export. Run 'customer-mirror sync' first.`,
    )
  return { read, neverRead }
}

const LISTED = 20

const READ_ORGANIZATIONS = `
  SELECT last.organization, last.id AS run, last.proof, last.data_as_of AS readAsOf, found.first_read_at AS firstReadAt,
    (SELECT data_as_of FROM runs WHERE id = found.proven_id) AS provenAsOf
  FROM (SELECT organization, MAX(id) AS id, MIN(finished_at) AS first_read_at, MAX(iif(proof = 'proven', id, NULL)) AS proven_id
    FROM runs WHERE ${READ_TO_END} GROUP BY organization) AS found
  JOIN runs AS last ON last.id = found.id
  ORDER BY last.organization`
