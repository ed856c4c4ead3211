import type { Customer, Row, Warnings } from './customer.ts'

/** A received record that is not a valid customer, kept with its reasons. */
export type Reject = {
  /** Lower-case UUID, when one could be read: its customer then counts as seen. */
  recordId: string | null
  /** The same record seen again has the same key: its id, or a digest of its payload. */
  key: string
  /** Index within the page, from 0. */
  position: number
  /** The record as JSON, cut where it is long. */
  payload: string
  reasons: { field: string; message: string }[]
}

/** A record's place in the listing, and what it takes to know the record again. */
export type SortedRow = Row & {
  /** The customer's row number, when the record is known to be stored as it came. */
  readonly rowId: number | undefined
  readonly fingerprint: number
  readonly idFingerprint: number
  readonly warnings: Warnings | undefined
}

/** The records of one page. Each is in exactly one of `known`, `customers` and `rejects`. */
export type Sorted = {
  /** Row numbers of the records that are known to be stored as they came. */
  readonly known: ArrayLike<number>
  readonly customers: readonly Customer[]
  /** The place of each of `customers` on the page, from 0. */
  readonly places: readonly number[]
  readonly rejects: readonly Reject[]
  readonly warnings: Warnings
  /** Every record in order; none of a page that is known as a whole, which `known` gives in order. */
  readonly rows: readonly SortedRow[]
}

/** One page whose records were sorted. */
export type SortedPage = Sorted & {
  readonly page: number
  readonly received: number
  /** Where its customers stand in the list as last read, when the page is known as a whole. */
  readonly listedAt?: number | undefined
  /** The window it answers, when that is to be recorded for a later run to go on from. */
  readonly window?: AnsweredWindow | undefined
}

/** A window that was asked for, and what the service said of it. */
export type AnsweredWindow = {
  readonly page: number
  readonly size: number
  readonly perPage: number
  readonly total: number | undefined
  readonly lastPage: number | undefined
  readonly beyondEnd: boolean
}

/** What became of the records of a page that was saved. */
export type SavedPage = {
  /** The row number of each record in order; 0 for one without a customer. */
  readonly rowIds: ArrayLike<number>
  /** Places of customers that were read in full and found to be stored as they came. */
  readonly unchanged: ReadonlySet<number>
}
