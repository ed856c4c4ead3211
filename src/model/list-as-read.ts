import type { Warnings } from './customer.ts'

/** The fingerprint of a record that cannot be recognized. */
export const UNKNOWN = 0

/** The list of one organization as its last complete run read it. */
export type ListAsRead = {
  readonly columns: ListColumns
  /** The different warnings of records; the first is empty. */
  readonly warnings: readonly Warnings[]
  /** How many customers the service said that there are, and the total at which it stops counting; undefined while that is not known. */
  readonly total?: number | undefined
  readonly cappedAt?: number | undefined
  /** Its order since then, as far as it is known. */
  readonly later?: LaterOrder | undefined
}

export type LaterOrder = {
  /** In list order; 0 for a record without a customer. */
  readonly rowIds: Uint32Array
  /** Rows that left their places, while it is unknown whether they stand elsewhere. */
  readonly pending: readonly number[]
}

/** Columns for `count` customers in list order, filled with zeros: entry `n` of each belongs to the customer at place `n`. */
export function emptyColumns(count: number) {
  return {
    rowIds: new Uint32Array(count),
    /** Fingerprint of the record as stored; UNKNOWN where the record must be read and compared again. */
    fingerprints: new Float64Array(count),
    idFingerprints: new Uint32Array(count),
    /** How the customer compares with the next one, as the rows of a window are compared; 0 where that is not known. */
    comparisons: new Uint8Array(count),
    /** The warnings of the record, as an index into `warnings` of the list. */
    oddities: new Uint8Array(count),
  }
}

export type ListColumns = Readonly<ReturnType<typeof emptyColumns>>

/** The places `[from, to)` of columns, as they stand there. */
export function stretch(columns: ListColumns, from: number, to: number): ListColumns {
  return {
    rowIds: columns.rowIds.subarray(from, to),
    fingerprints: columns.fingerprints.subarray(from, to),
    idFingerprints: columns.idFingerprints.subarray(from, to),
    comparisons: columns.comparisons.subarray(from, to),
    oddities: columns.oddities.subarray(from, to),
  }
}

export const EMPTY_LIST: ListAsRead = { columns: emptyColumns(0), warnings: [{}] }
