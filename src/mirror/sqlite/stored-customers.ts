import type { Customer } from '../../customer.ts'
import type { Run } from '../../run.ts'
import type { Connection } from './database.ts'
import type { InitialIds } from './initial-ids.ts'
import { WRITTEN_FIELDS } from './insertion.ts'
import { statement } from './statement.ts'

/** A stored customer, with the columns needed to detect changes. */
export type StoredCustomer = Customer & { row_id: number; missing_since: string | null; removed_at: string | null }

const FIND = `SELECT row_id, id, ${WRITTEN_FIELDS.join(', ')}, missing_since, removed_at FROM customers`
const FIND_BY_ID = `${FIND} WHERE organization = ? AND id IN (SELECT value FROM json_each(?))`
// With +, by the row whatever indexes there are: SQLite would take one of the organization, and read all of its customers.
export const FIND_BY_ROW = `${FIND} WHERE +organization = ? AND row_id IN (SELECT value FROM json_each(?))`

/** A customer with its index on the page. */
export type Placed = readonly [place: number, customer: Customer]

/** One query for each page: a look-up for each row costs more than twice as much. */
export function findStored(db: Connection, run: Run, customers: readonly Placed[]): Map<string, StoredCustomer> {
  if (customers.length === 0) return new Map()
  return storedAmong(
    db,
    run,
    FIND_BY_ID,
    customers.map(([, { id }]) => id),
  )
}

/** The same while there is no index of ids: a row of another customer counts for that one. */
export function findRows(
  db: Connection,
  run: Run,
  customers: readonly Placed[],
  ids: InitialIds,
): Map<string, StoredCustomer> {
  if (customers.length === 0) return new Map()
  return storedAmong(
    db,
    run,
    FIND_BY_ROW,
    customers.flatMap(([, { id }]) => ids.rowsOf(id)),
  )
}

function storedAmong(
  db: Connection,
  { organization }: Run,
  sql: string,
  among: readonly unknown[],
): Map<string, StoredCustomer> {
  const rows = statement<[string, string], StoredCustomer>(db, sql).all(organization, JSON.stringify(among))
  return new Map(rows.map((row) => [row.id, row]))
}
