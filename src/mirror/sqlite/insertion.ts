import type { Customer } from '../../customer.ts'
import type { Run } from '../../run.ts'
import { COMPARED_FIELDS } from '../changed-fields.ts'
import { requireTaken } from '../rows-taken.ts'
import { sqlTime } from '../sql-time.ts'
import type { Connection } from './database.ts'
import { statement } from './statement.ts'
import { updateStamp } from './update-stamp.ts'

/** The columns that hold what a record says. */
export const WRITTEN_FIELDS = [...COMPARED_FIELDS, 'created_at_utc'] as const

const COLUMNS = [
  'row_id',
  'organization',
  'id',
  ...WRITTEN_FIELDS,
  'last_run_id',
  'updated_at',
  'first_seen_at',
  'changed_at',
]
const ROW = `(${COLUMNS.map(() => '?').join(', ')})`

/** Rows of one statement: it takes a quarter less time than a statement for each. */
const ROWS_AT_ONCE = 10

/** The INSERT of so many rows, one less than its place. */
const INSERTS = Array.from({ length: ROWS_AT_ONCE }, (_, place) => {
  const rows = Array.from({ length: place + 1 }, () => ROW)
  return `INSERT INTO customers (${COLUMNS.join(', ')}) VALUES ${rows.join(', ')}`
})
const INSERT_ONE = INSERTS[0] ?? ''
const INSERT_UNLESS_THERE = `${INSERT_ONE} ON CONFLICT (organization, id) DO NOTHING`

/** Inserts customers for a run. Parameters are positional: named ones would cost more than the insert. */
export type Insertion = {
  /** Returns the row of the customer; undefined if there is one already, which only the index of ids says. */
  one(customer: Customer): number | undefined
  /** The number of the next row that is inserted. */
  nextRow(): number
  /** Inserts customers of which none is there, in rows from `first` on. */
  all(customers: readonly Customer[], first: number): void
}

/** `isIndexed`: whether there is the index of ids. */
export function insertion(
  db: Connection,
  run: Run,
  { nowMs, isIndexed }: { nowMs: number; isIndexed: boolean },
): Insertion {
  const now = sqlTime(nowMs)
  const values: unknown[] = []
  const nextRow = () => (statement<[], number | null>(db, LAST_ROW).pluck().get() ?? 0) + 1
  const put = (nth: number, rowId: number | null, customer: Customer) => {
    let at = nth * COLUMNS.length
    values[at++] = rowId
    values[at++] = run.organization
    values[at++] = customer.id
    for (const field of WRITTEN_FIELDS) values[at++] = customer[field]
    values[at++] = run.id
    values[at++] = updateStamp(db, nowMs)
    values[at++] = now
    values[at++] = now
  }
  return {
    one(customer) {
      put(0, null, customer)
      values.length = COLUMNS.length
      const { changes, lastInsertRowid } = statement(db, isIndexed ? INSERT_UNLESS_THERE : INSERT_ONE).run(values)
      return changes === 0 ? undefined : Number(lastInsertRowid)
    },
    nextRow,
    all(customers, first) {
      for (let from = 0; from < customers.length; from += ROWS_AT_ONCE) {
        const some = customers.slice(from, from + ROWS_AT_ONCE)
        some.forEach((customer, nth) => put(nth, first + from + nth, customer))
        values.length = some.length * COLUMNS.length
        const { changes } = statement(db, INSERTS[some.length - 1] ?? '').run(values)
        requireTaken(run, 'customers', { given: some.length, taken: changes })
      }
    },
  }
}

const LAST_ROW = 'SELECT MAX(row_id) FROM customers'
