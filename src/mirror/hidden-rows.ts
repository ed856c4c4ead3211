import { TEXT_FIELDS } from '../customer.ts'
import type { HidableColumns, HiddenValues } from '../privacy/hidden-values.ts'

/** How far the rewriting of an organization is: the rows of this table up to this one, and the tables before it, are done. */
export type Place = { table: string; row: number }

/** The tables with values that a policy may hide, in the order in which they are rewritten. */
export const HIDDEN_TABLES = ['customers', 'changes', 'rejects', 'runs'] as const
export const FIRST_TABLE = HIDDEN_TABLES[0]

/** Rows rewritten in one transaction. */
export const REWRITTEN_AT_ONCE = 2000

/** The columns of `customers` that a policy may hide. */
export const HIDABLE_COLUMNS = [...TEXT_FIELDS, 'extra'] as const

/** The place after some rows: `last` is the last of them that was looked at, undefined if there was none. */
export function placeAfter({ table }: Place, last: number | undefined): Place | undefined {
  if (last !== undefined) return { table, row: last }
  const next = HIDDEN_TABLES[HIDDEN_TABLES.findIndex((name) => name === table) + 1]
  return next === undefined ? undefined : { table: next, row: 0 }
}

/** A customer under the new policy; the same object where nothing differs. A value that is nested too deeply to be hashed is not kept. */
export function hiddenCustomer<Row extends HidableColumns>(row: Row, hidden: HiddenValues): Row {
  try {
    return hidden.customer(row)
  } catch (error) {
    if (error instanceof RangeError) return hidden.customer({ ...row, extra: null })
    throw error
  }
}

/** What the service said about a refusal may repeat a value. */
const QUOTATION = / \((?:[\w.-]{1,60}: )?".*"\)/s

/** The message of an error without what the service said; the same text if it said nothing. */
export function withoutQuotation(error: string): string {
  return error.replace(QUOTATION, '')
}
