import type { Connection } from './database.ts'
import type { Absent } from './removals.ts'
import type { Run } from './runs.ts'
import { statement } from './statement.ts'

/** A customer known to be listed. */
export type Listed = Pick<Absent, 'id' | 'username' | 'email'>

/** Any customer this run has received that has both a username and an address. */
export function findListed(db: Connection, run: Run): Listed | undefined {
  const everybody = statement<[string], Listed & { row_id: number }>(
    db,
    `SELECT row_id, id, username, email FROM customers
     WHERE organization = ? AND username <> '' AND email <> '' AND removed_at IS NULL`,
  )
  for (const { row_id, ...customer } of everybody.iterate(run.organization)) {
    if (run.seen.has(row_id)) return customer
  }
  return undefined
}
