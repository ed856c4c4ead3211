import { TEXT_FIELDS, type Customer } from '../../../customer.ts'
import { storableTime } from '../stored-time.ts'

/** The columns that hold a record. */
export const FIELDS = [...TEXT_FIELDS, 'created_at_utc', 'extra'] as const

/** The columns of customers as the rows of `given`. */
export const AS_STORED = FIELDS.map((field) => {
  if (field === 'created_at_utc') return 'given.created_at_utc::timestamptz'
  return field === 'extra' ? 'given.extra::json' : `given.${field}`
})

/** An array for each of FIELDS. */
export function columnsOf(customers: readonly Customer[]): (string | null)[][] {
  return FIELDS.map((field) =>
    customers.map((customer) => (field === 'created_at_utc' ? storableTime(customer[field]) : customer[field])),
  )
}

/**
 * `unnest` of arrays from parameter `first` on: row numbers, then `others`, then FIELDS. The planner does not see how many rows there are,
 * so it looks each of them up.
 */
export function givenFrom(first: number, others: readonly (readonly [name: string, type: string])[]): string {
  const columns = [['row_id', 'bigint'], ...others, ...FIELDS.map((field) => [field, 'text'] as const)]
  const arrays = columns.map(([, type], index) => `(SELECT $${first + index}::${type}[])`)
  return `unnest(${arrays.join(', ')}) AS given (${columns.map(([name]) => name).join(', ')})`
}
