import type { Connection } from '../../store/sqlite/connect.ts'
import { READ_TO_END } from '../../store/schema/run-conditions.ts'
import { UsageError } from '../../errors/errors.ts'
import { listedNames } from '../../listed-names.ts'
import { mirroredIn, type UnknownOrganization } from '../organizations/mirrored-in.ts'
import type { ExportedOrganization } from './format.ts'
import type { Selection } from './selection.ts'

/** The organizations to export, and those that are left out, whose list was never read to its end, or not by then. */
export type SelectedOrganizations = { read: ExportedOrganization[]; leftOut: LeftOutOfExport[] }
export type LeftOutOfExport = { organization: string; firstReadAt: string | undefined }

/**
 * Those named, or all of the mirror; with `asOf`, those that had been read to their end by then. Throws UsageError where there is
 * none to export.
 */
export function selectOrganizations(
  db: Connection,
  { organizations: named, asOf }: Pick<Selection, 'organizations' | 'asOf'>,
  configured: readonly string[],
): SelectedOrganizations | UnknownOrganization {
  const known = mirroredIn(db)
  const unknown = named.find((organization) => !known.includes(organization) && !configured.includes(organization))
  if (unknown !== undefined) return { organization: unknown, known }
  const chosen = named.length === 0 ? known : [...new Set(named)]
  const found = readOrganizations(db)
  const isRead = (one: ExportedOrganization | undefined) =>
    one !== undefined && (asOf === undefined || one.firstReadAt <= asOf)
  const read = chosen.flatMap((id) => found.get(id) ?? []).filter(isRead)
  const leftOut = chosen
    .filter((id) => !isRead(found.get(id)))
    .map((organization) => ({ organization, firstReadAt: found.get(organization)?.firstReadAt }))
  if (read.length === 0) throw nothingToExport(leftOut, asOf)
  return { read, leftOut }
}

function nothingToExport(leftOut: readonly LeftOutOfExport[], asOf: string | undefined): UsageError {
  const [first] = leftOut.flatMap(({ firstReadAt }) => firstReadAt ?? []).toSorted()
  if (first !== undefined)
    return new UsageError(
      `${asOf} is before the first complete run, which ended at ${first}: the customers of then are not known.`,
    )
  const ids = leftOut.map(({ organization }) => organization)
  const which = ids.length === 0 ? 'No list was ever' : `The list of ${listedNames(ids)} was never`
  return new UsageError(
    `${which} read to its end, so there is nothing whole to export. Run 'customer-mirror sync' first.`,
  )
}

function readOrganizations(db: Connection): Map<string, ExportedOrganization> {
  const all = db.prepare<[], Omit<ExportedOrganization, 'retiredAt'>>(READ_ORGANIZATIONS).safeIntegers(false).all()
  const retiredAt = new Map(db.prepare<[], [string, string]>(RETIRED_ORGANIZATIONS).raw().all())
  return new Map(all.map((one) => [one.organization, { ...one, retiredAt: retiredAt.get(one.organization) ?? null }]))
}

const RETIRED_ORGANIZATIONS = 'SELECT organization, retired_at FROM freshness WHERE retired_at IS NOT NULL'

const READ_ORGANIZATIONS = `
  SELECT last.organization, last.id AS run, last.proof, last.read_as_of AS readAsOf, found.first_read_at AS firstReadAt,
    (SELECT read_as_of FROM runs WHERE id = found.proven_id) AS provenAsOf,
    (SELECT COUNT(*) FROM customers WHERE customers.organization = last.organization)
      - (SELECT COUNT(*) FROM customers WHERE customers.organization = last.organization AND removed_at IS NOT NULL) AS active
  FROM (SELECT organization, MAX(id) AS id, MIN(finished_at) AS first_read_at, MAX(iif(proof IN ('proven', 'settled'), id, NULL)) AS proven_id
    FROM runs WHERE ${READ_TO_END} GROUP BY organization) AS found
  JOIN runs AS last ON last.id = found.id
  ORDER BY last.organization`
