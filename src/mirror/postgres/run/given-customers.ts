import { TEXT_FIELDS, type Customer } from '../../../customer.ts'
import { ArrayOf } from '../session.ts'
import { storableTime } from '../stored-time.ts'

/** The columns that hold a record. */
export const FIELDS = [...TEXT_FIELDS, 'created_at_utc', 'extra'] as const

/** The columns of customers as the rows of `given`. */
export const AS_STORED = FIELDS.map((field) => {
  if (field === 'created_at_utc') return 'given.created_at_utc::timestamptz'
  return field === 'extra' ? 'given.extra::json' : `given.${field}`
})

/** An array for each of FIELDS. */
export function columnsOf(customers: readonly Customer[]): ArrayOf[] {
  return FIELDS.map((field) => ArrayOf.texts(customers.map((customer) => customer[field]))).with(
    FIELDS.indexOf('created_at_utc'),
    ArrayOf.texts(customers.map((customer) => storableTime(customer.created_at_utc))),
  )
}

/**
 * The rows of arrays from parameter `first` on: row numbers, then `others`, then FIELDS. The planner does not see how many rows there are,
 * so it looks each of them up. Each array is expanded in the select list: in FROM, the server would first write every one of them into a
 * store of its own.
 */
export function givenFrom(first: number, others: readonly (readonly [name: string, type: string])[]): string {
  const columns = [['row_id', 'bigint'], ...others, ...FIELDS.map((field) => [field, 'text'] as const)]
  const expanded = columns.map(([name, type], index) => `unnest((SELECT $${first + index}::${type}[])) AS ${name}`)
  return `(SELECT ${expanded.join(', ')}) AS given`
}
