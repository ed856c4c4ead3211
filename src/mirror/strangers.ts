import type { Connection } from './database.ts'
import { statement } from './statement.ts'

/** How many of these ids are known under another organization and not under this one: a sign of a wrong key or address. */
export function countStrangers(db: Connection, organization: string, ids: readonly string[]): number {
  return (
    statement<[Record<string, unknown>], number>(
      db,
      `WITH others AS (SELECT DISTINCT organization FROM runs WHERE organization <> @organization)
       SELECT COUNT(*) FROM (SELECT DISTINCT value AS id FROM json_each(@ids)) AS received
       WHERE NOT EXISTS (SELECT 1 FROM customers WHERE organization = @organization AND id = received.id)
         AND EXISTS (SELECT 1 FROM others JOIN customers USING (organization) WHERE customers.id = received.id)`,
    )
      .pluck()
      .get({ organization, ids: JSON.stringify(ids) }) ?? 0
  )
}
