import type { Row, Warnings } from './customer.ts'
import type { Neighbours } from './scan/neighbours.ts'

/**
 * A page as it came before. Where the same bytes come again, so do the same customers, and where the same record comes again,
 * so does the same customer.
 */
export type RememberedPage = {
  /** The page as a whole; undefined when there was none, or when one of its customers may have changed since it came. */
  whole: KnownPage | undefined
  /** Its rows, each with what it takes to know its record again, but for those that may have changed. */
  rows(): readonly RememberedRow[]
  /** The customer whose record came so on one of the pages around it. */
  findMoved(fingerprint: number): RememberedRow | undefined
  /** The ids of customers, by their rows, as the mirror has them; a row that is gone has none. */
  idsOf(rowIds: readonly number[]): ReadonlyMap<number, string>
}

/** What there is to know of a page whose bytes are known. Of its rows it is little: there are many, and each night again. */
export type KnownPage = {
  /** What the bytes of its records come to. */
  digest: string
  /** The customer of each row, by its number in the mirror. */
  rowIds: readonly number[]
  /** The first row and the last. */
  ends: readonly [Row, Row]
  /** How its rows compare, each with the next. */
  neighbours: Neighbours
  /** What was odd about some of its records. */
  warnings: readonly Warnings[]
}

/** A record as it came before, and the customer it became. */
export type RememberedRow = {
  /** Of the customer, in the mirror. */
  rowId: number
  fingerprint: number
  /** What was odd about it. */
  warnings?: Warnings | undefined
}
