import type { Row, Warnings } from './customer.ts'
import type { Neighbours } from './scan/neighbours.ts'

/**
 * A page as it came before: what its bytes came to, and which customers they are. Where the same bytes come again, so do
 * the same customers, and where the same record comes again, so does the same customer.
 */
export type RememberedPage = {
  /** Of the bytes of the page's records; undefined when one of its customers may have changed since they came. */
  digest: string | undefined
  /** Of the first and the last the id and the creation time are known too. */
  rows: readonly RememberedRow[]
  /** How its rows compare, each with the next; undefined when none are remembered. */
  neighbours: Neighbours | undefined
  /** The customer whose record came so on one of the pages around it. */
  findMoved(fingerprint: number): RememberedRow | undefined
}

/** A record as it came before, and the customer it became. */
export type RememberedRow = Row & {
  /** Of the customer, in the mirror. */
  rowId: number
  fingerprint: number
  /** What was odd about it. */
  warnings?: Warnings | undefined
}
