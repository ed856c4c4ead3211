import type { KnownElsewhere, StoredReject } from '../../model/mirror.ts'
import { given } from '../port/fragments.ts'
import { sql, type Sql } from '../port/sql.ts'
import { records, type Session } from '../port/store.ts'

/** Open rejects, last seen first. */
export async function listRejects(
  session: Session,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Promise<StoredReject[]> {
  const ofOne = organization === undefined ? sql`` : sql`AND organization = ${organization}`
  const rows = await records<Omit<StoredReject, 'recordId'> & { recordId: string | undefined }>(
    session,
    sql`
    SELECT organization, run_id, record_id, page, position, payload, reasons, seen_at FROM rejects
    WHERE resolved_at IS NULL ${ofOne} ORDER BY seen_at DESC, page, position LIMIT ${limit}`,
  )
  return rows.map((row) => ({ ...row, recordId: row.recordId ?? null }))
}

/** The names of the organizations in a table: one seek in an index for each, since a table may have millions of rows of a few. */
const ORGANIZATIONS_WITH_CUSTOMERS = sql`
  SELECT min(organization) FROM customers
  UNION ALL
  SELECT (SELECT min(organization) FROM customers WHERE customers.organization > others.organization)
  FROM others WHERE others.organization IS NOT NULL`

/** Counts which of a few ids belong to another organization and are new to this one: a sign of a wrong key. One look-up each. */
export async function findKnownElsewhere(
  session: Session,
  organization: string,
  ids: readonly string[],
): Promise<KnownElsewhere> {
  const asked = given(
    [...new Set(ids)].map((id) => ({ id })),
    { id: 'text' },
    'asked',
  )
  const isOf = (name: Sql) =>
    sql`(SELECT 1 FROM customers WHERE customers.organization = ${name} AND customers.id = asked.id LIMIT 1)`
  const found = await session.all<{ id: string; organization: string }>(sql`
    WITH RECURSIVE others (organization) AS (${ORGANIZATIONS_WITH_CUSTOMERS})
    SELECT asked.id, others.organization FROM ${asked} CROSS JOIN others
    WHERE others.organization <> ${organization} AND ${isOf(sql`${organization}`)} IS NULL AND ${isOf(sql`others.organization`)} = 1`)
  return knownElsewhere(found)
}

function knownElsewhere(rows: readonly { id: string; organization: string }[]): KnownElsewhere {
  const known = new Set<string>()
  const byOrganization = new Map<string, number>()
  for (const { id, organization } of rows) {
    known.add(id)
    byOrganization.set(organization, (byOrganization.get(organization) ?? 0) + 1)
  }
  const [most] = [...byOrganization].toSorted(
    ([name, one], [otherName, other]) => other - one || (name < otherName ? -1 : 1),
  )
  return { count: known.size, mostlyOf: most?.[0] }
}

/** Whether the record of a row of `customers` was not a reject when it was received last. */
export const NOT_REJECTED = `NOT EXISTS (SELECT 1 FROM rejects
  WHERE rejects.organization = customers.organization AND record_key = customers.id AND resolved_at IS NULL)`

/** The first run of the scan of a run: that run, or the interrupted one with which the scan began. */
export const firstOfScan = (run: string) => `(
  WITH RECURSIVE scan (id, resumed_from) AS (
    SELECT id, resumed_from FROM runs WHERE id = ${run}
    UNION ALL SELECT runs.id, runs.resumed_from FROM runs JOIN scan ON runs.id = scan.resumed_from
  )
  SELECT MIN(id) FROM scan
)`

/** The open rejects from before the scan of a run, with the customers of the same ids. */
export const openBefore = (organization: string, run: string) => `
  SELECT reject_id, row_id, customers.id FROM rejects
  JOIN customers ON customers.organization = rejects.organization AND customers.id = record_key
  WHERE rejects.organization = ${organization} AND resolved_at IS NULL AND rejects.run_id < ${firstOfScan(run)}`
