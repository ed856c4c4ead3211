import type { KnownElsewhere } from '../../../store.ts'
import { knownElsewhere } from '../../rows/known-elsewhere.ts'
import { organizationsIn } from './organizations-in.ts'
import type { Session } from '../session.ts'

/**
 * Each id costs one index look-up for each organization of the mirror, so the caller passes only a few. With LIMIT, each is looked up: in
 * a table that was never analyzed the server would rather read all customers of the organization, at every save of an initial sync.
 */
const FIND = `
  WITH RECURSIVE ${organizationsIn('customers')},
  unknown (id) AS MATERIALIZED (
    SELECT DISTINCT given COLLATE "C" FROM unnest($2::text[]) AS given
    LEFT JOIN LATERAL (
      SELECT true AS is_own FROM customers WHERE organization = $1 AND id = given COLLATE "C" LIMIT 1
    ) AS own ON true
    WHERE is_own IS NULL
  )
  SELECT unknown.id, organizations.organization FROM unknown CROSS JOIN organizations
  CROSS JOIN LATERAL (
    SELECT 1 FROM customers WHERE customers.organization = organizations.organization AND customers.id = unknown.id LIMIT 1
  ) AS known`

/** Counts which of a few ids belong to another organization and are new to this one: a sign of a wrong key or address. */
export async function findKnownElsewhere(
  session: Session,
  organization: string,
  ids: readonly string[],
): Promise<KnownElsewhere> {
  return knownElsewhere(await session.all<{ id: string; organization: string }>(FIND, organization, ids))
}
