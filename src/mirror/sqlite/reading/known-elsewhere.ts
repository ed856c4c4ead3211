import type { KnownElsewhere } from '../../../store.ts'
import { knownElsewhere } from '../../rows/known-elsewhere.ts'
import type { Connection } from '../opening/database.ts'
import { lacksIdIndex } from '../run/id-index.ts'
import { statement } from '../statement.ts'

/**
 * Each id costs one index look-up for each organization of the file, so the caller passes only a few. The names of organizations come
 * from the index too, with one look-up for each, since `customers` may have millions of rows and `runs` thousands for each.
 */
const FIND = `
  WITH RECURSIVE others (organization) AS (
    SELECT MIN(organization) FROM customers
    UNION ALL
    SELECT (SELECT MIN(organization) FROM customers WHERE organization > others.organization) FROM others
    WHERE others.organization IS NOT NULL
  ),
  unknown (id) AS MATERIALIZED (
    SELECT DISTINCT value FROM json_each(@ids)
    WHERE NOT EXISTS (SELECT 1 FROM customers WHERE organization = @organization AND id = value)
  )
  SELECT unknown.id, others.organization FROM unknown CROSS JOIN others CROSS JOIN customers
    ON customers.organization = others.organization AND customers.id = unknown.id`

/** Counts which of a few ids belong to another organization and are new to this one: a sign of a wrong key or address. */
export function findKnownElsewhere(db: Connection, organization: string, ids: readonly string[]): KnownElsewhere {
  // The only organization of a mirror is being read for the first time.
  if (lacksIdIndex(db)) return knownElsewhere([])
  const find = statement<[Record<string, unknown>], { id: string; organization: string }>(db, FIND)
  return knownElsewhere(find.all({ organization, ids: JSON.stringify(ids) }))
}
