import type { Neighbours } from './neighbours.ts'

/** A page to ask for; it covers the positions `[size * (page - 1), size * page)`. */
export type Window = {
  /** From 1. */
  readonly page: number
  readonly size: number
}

/**
 * What the scan needs to know of a received record. Of a window whose `neighbours` are known, rows that are kept may have
 * nothing but their number, but for the first and the last.
 */
export type Row = {
  /** Lower case; undefined when the record has no readable id. */
  readonly id: string | undefined
  /** As sent; undefined when missing. */
  readonly createdAt: string | undefined
  /** Where the caller keeps it: cheaper to compare than an id, and kept in a smaller set. */
  readonly rowId?: number | undefined
  /** The same for a record that came the same. */
  readonly fingerprint?: number | undefined
  /** It is told as the caller keeps it, and not as it was sent just now. */
  readonly isKept?: boolean | undefined
}

/** What tells a row from every other: where the caller keeps it, which is the cheapest to compare, or else its id. */
export type RowKey = string | number

/** The same for the same row; undefined for one that nobody can tell. */
export function keyOf(row: Row | undefined): RowKey | undefined {
  return row?.rowId ?? row?.id
}

/** One answer of the service. */
export type WindowRead = {
  /** The window that was asked for. */
  readonly window: Window
  readonly rows: readonly Row[]
  /** How its rows compare, where that is known; all of them have a readable id then. */
  readonly neighbours?: Neighbours | undefined
  /** The number of rows the service says it has. */
  readonly total: number | undefined
  /** The page size the service says it used. */
  readonly perPage: number
  /** The service answered that there is no such page (404); `rows` is empty. */
  readonly beyondEnd: boolean
}

/**
 * Why a window could not be read: `hole` at every attempt an error (a poison row), `size-refused` a 422 for its size,
 * `page-mismatch` another page or more rows than asked for, `repeated-page` an identical page under another number.
 */
export type WindowFailure = 'hole' | 'size-refused' | 'page-mismatch' | 'repeated-page'

export function startOf(window: Window): number {
  return window.size * (window.page - 1)
}

export function endOf(window: Window): number {
  return window.size * window.page
}

export function isSame(one: Window, other: Window): boolean {
  return one.page === other.page && one.size === other.size
}

/** The same text for the same window. */
export function windowKey(window: Window): string {
  return `${window.page}/${window.size}`
}
