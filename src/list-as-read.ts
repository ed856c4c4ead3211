import type { Warnings } from './customer.ts'

/** Customers in list order: entry `n` of each column belongs to the customer at place `n`. */
export type ListColumns = {
  /** The customer's row number in the mirror. */
  readonly rowIds: Uint32Array
  /** Fingerprint of the record as stored; UNKNOWN where the record must be read and compared again. */
  readonly fingerprints: Float64Array
  /** Fingerprint of the id alone. */
  readonly idFingerprints: Float64Array
  /** What was odd about the record: an index into the warnings kept beside the columns. */
  readonly oddities: Uint8Array
}

/** The fingerprint of a record that cannot be recognized. */
export const UNKNOWN = 0

/** A window that was read, as a part of the list: the rows at `[place, place + count)` came in it, in that order. */
export type ListedWindow = {
  readonly place: number
  readonly count: number
  /** SHA-256 of the bytes of its records. */
  readonly digest: string
  /** What the caller wants to know of the window when it comes again, as JSON. */
  readonly outline: string
}

/** The list of one organization as its last complete run read it. */
export type ListAsRead = {
  readonly columns: ListColumns
  readonly windows: readonly ListedWindow[]
  /** The kinds of oddities; the first is none. */
  readonly warnings: readonly Warnings[]
}

/** Columns for so many customers, all of them zero. */
export function emptyColumns(count: number): ListColumns {
  return {
    rowIds: new Uint32Array(count),
    fingerprints: new Float64Array(count),
    idFingerprints: new Float64Array(count),
    oddities: new Uint8Array(count),
  }
}

/** A list without customers. */
export const EMPTY_LIST: ListAsRead = { columns: emptyColumns(0), windows: [], warnings: [{}] }
