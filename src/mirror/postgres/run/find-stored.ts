import { TEXT_FIELDS, type Customer } from '../../../customer.ts'
import type { Known, Stored } from '../../pages/decide-pages.ts'
import type { Session } from '../session.ts'

/**
 * `created_at_utc` as PostgreSQL writes it, so that it can be written back whatever the year. The planner does not see how many ids
 * there are: for a thousand it would read the whole table, which takes ten times as long as to look them up.
 */
const FIND = `
  SELECT last.row_id AS last_row_id, customers.row_id, id, ${TEXT_FIELDS.join(', ')}, created_at_utc::text AS created_at_utc, extra,
    missing_since IS NOT NULL AS is_missing, removed_at IS NOT NULL AS is_removed
  FROM (SELECT greatest(
      (SELECT MAX(row_id) FROM customers WHERE organization = $1),
      (SELECT MAX(row_id) FROM edited_customers WHERE organization = $1)) AS row_id) AS last
  LEFT JOIN customers ON organization = $1 AND id = ANY (ARRAY(SELECT unnest($2::text[])))`

type Found = Customer & { last_row_id: number | null; row_id: number | null; is_missing: boolean; is_removed: boolean }

/**
 * The customers of the organization with these ids, and its highest row number. That of a row which was deleted by hand is not given to
 * another customer before a whole list was read: the list before and the windows of a scan may still refer to it.
 */
export async function findStored(session: Session, organization: string, ids: ReadonlySet<string>): Promise<Stored> {
  const found = await session.all<Found>(FIND, organization, [...ids])
  const customers = new Map<string, Known>()
  for (const { last_row_id: _, row_id: rowId, is_missing: isMissing, is_removed: isRemoved, ...customer } of found)
    if (rowId !== null) customers.set(customer.id, { rowId, customer, isMissing, isRemoved })
  return { customers, lastRowId: found[0]?.last_row_id ?? 0 }
}
