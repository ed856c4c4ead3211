import type { Warnings } from './customer.ts'
import type { LaterOrder } from './later-order.ts'
import type { OrderFacts } from './order-facts.ts'

/** Customers in list order: entry `n` of each column belongs to the customer at place `n`. */
export type ListColumns = {
  /** The customer's row number in the mirror. */
  readonly rowIds: Uint32Array
  /** Fingerprint of the record as stored; UNKNOWN where the record must be read and compared again. */
  readonly fingerprints: Float64Array
  /** Fingerprint of the id alone. */
  readonly idFingerprints: Uint32Array
  /** How the customer compares with the next one, as the rows of a window are compared. */
  readonly comparisons: Uint8Array
  /** The warnings of the record, as an index into `warnings` of the list. */
  readonly oddities: Uint8Array
}

/** The fingerprint of a record that cannot be recognized. */
export const UNKNOWN = 0

/** A window as part of the list: it contained the rows at `[place, place + count)`, in that order. */
export type ListedWindow = {
  readonly place: number
  readonly count: number
  /** SHA-256 of the bytes of its records. */
  readonly digest: string
  /** The caller's data about the window, as JSON, for when it is recognized. */
  readonly outline: string
}

/** The list of one organization as its last complete run read it. */
export type ListAsRead = {
  readonly columns: ListColumns
  readonly windows: readonly ListedWindow[]
  /** The different warnings of records; the first is empty. */
  readonly warnings: readonly Warnings[]
  /** What is known of its order, for the next scan. */
  readonly order: OrderFacts
  /** Its order since then, as far as quick runs know it. */
  readonly later?: LaterOrder | undefined
}

/** Columns for `count` customers, filled with zeros. */
export function emptyColumns(count: number): ListColumns {
  return {
    rowIds: new Uint32Array(count),
    fingerprints: new Float64Array(count),
    idFingerprints: new Uint32Array(count),
    comparisons: new Uint8Array(count),
    oddities: new Uint8Array(count),
  }
}

/** A list without customers. */
export const EMPTY_LIST: ListAsRead = { columns: emptyColumns(0), windows: [], warnings: [{}], order: {} }
