import { createHash } from 'node:crypto'
import type { Customer, Row, Warnings } from './customer.ts'
import type { Suppressed } from '../privacy/forgotten.ts'

/** A received record that is not a valid customer, kept with its reasons. */
export type Reject = {
  /** Lower-case UUID, when one could be read: its customer then counts as seen. */
  recordId: string | null
  key: string
  /** Index within the page, from 0. */
  position: number
  /** The record as JSON, cut where it is long. */
  payload: string
  reasons: { field: string; message: string }[]
}

/** The key of a reject, which the same record has when it is seen again: its id, or a digest of its payload. */
export function rejectKey(recordId: string | null, payload: string): string {
  return recordId ?? createHash('sha256').update(payload).digest('hex')
}

/** The field of a payload that was cut that says what is missing, and the one with the beginning of a record that is no object. */
export const CUT_MARK = 'customer_mirror_cut'
export const CUT_BEGINNING = 'beginning'

/** One page with its records sorted: each is known by its row, or in exactly one of `customers`, `rejects` and `suppressed`. */
export type SortedPage = {
  readonly page: number
  readonly customers: readonly Customer[]
  /** The place of each of `customers` on the page, from 0. */
  readonly places: readonly number[]
  readonly rejects: readonly Reject[]
  readonly suppressed: readonly Suppressed[]
  readonly warnings: Warnings
  /** The row number of each record that is known, and so stored unchanged; 0 of the others. */
  readonly rowIds: ArrayLike<number>
  /** Every record in order, without those that are known, unless there are rejects too; empty if the whole page is known. */
  readonly rows: readonly (Row | undefined)[]
  /** Its window, if the mirror must record it so that a later run can continue. */
  readonly window?: AnsweredWindow | undefined
}

/** A page to ask for, counted from 1, and how many customers it should hold; it covers the positions `[size * (page - 1), size * page)`. */
export type Window = { readonly page: number; readonly size: number }

/** A requested window, with the meta data of its answer. */
export type AnsweredWindow = Window & {
  /** The page size the service says it used, and how many customers it says it has. */
  readonly perPage: number
  readonly total: number | undefined
  /** The list ends before it: it was answered with 404, or is empty. */
  readonly beyondEnd: boolean
}
