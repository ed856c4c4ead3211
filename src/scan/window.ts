/** A page to ask for; it covers the positions `[size * (page - 1), size * page)`. */
export type Window = {
  /** From 1. */
  readonly page: number
  readonly size: number
}

/** What the scan needs to know of a received record. */
export type Row = {
  /** Lower case; undefined when the record has no readable id. */
  readonly id: string | undefined
  /** As sent; undefined when missing. */
  readonly createdAt: string | undefined
  /** Where the caller keeps it, for a set of rows smaller than a set of ids. */
  readonly rowId?: number | undefined
}

/** One answer of the service. */
export type WindowRead = {
  /** The window that was asked for. */
  readonly window: Window
  readonly rows: readonly Row[]
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
