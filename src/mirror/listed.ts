import type { Listed, Run } from '../run.ts'
import type { Connection } from './database.ts'
import { statement } from './statement.ts'

/** Customers this run has received, to try searches on: such with a name, a username and an address first. At most `most`. */
export function findListed(db: Connection, run: Run, most: number): Listed[] {
  const everybody = statement<[string], Listed & { row_id: number }>(
    db,
    `SELECT row_id, id, name, username, email FROM customers WHERE organization = ? AND removed_at IS NULL`,
  )
  const named: Listed[] = []
  const others: Listed[] = []
  for (const { row_id, ...customer } of everybody.iterate(run.organization)) {
    const { name, username, email } = customer
    if (!run.seen.has(row_id)) continue
    const isNamed = [name, username, email].every((value) => value !== null && value !== '')
    if (isNamed && named.push(customer) === most) break
    if (!isNamed && (username ?? email) !== null && others.length < most) others.push(customer)
  }
  return [...named, ...others].slice(0, most)
}
