import type { WindowFailure } from '../../errors/error-facts.ts'
import type { RowOrder } from './row-order.ts'

export type { WindowFailure }

/** A page to ask for; it covers the positions `[size * (page - 1), size * page)`. */
export type Window = {
  /** From 1. */
  readonly page: number
  readonly size: number
}

/** What the scan needs to know about a received record. */
export type Row = {
  /** Lower case; undefined when the record has no readable id. */
  readonly id: string | undefined
  /** As sent; undefined when missing. */
  readonly createdAt: string | undefined
  /** The number of its stored row: cheaper to compare than an id, and kept in a smaller set. Below 0 it stands for a row that is not stored. */
  readonly rowId?: number | undefined
  /** The record is the same as the stored row, or nothing is stored to compare it with. */
  readonly isKept?: boolean | undefined
}

/** A row, or only its row number when the stored customer is unchanged. */
export type RowOrNumber = Row | number

/** What identifies a row: the number of its stored row, which is the cheapest to compare, or else its id. */
export type RowKey = string | number

/** The identity of a row; undefined for a record that has neither row number nor id. */
export function keyOf(row: RowOrNumber | undefined): RowKey | undefined {
  return typeof row === 'object' ? (row.rowId ?? row.id) : row
}

/** Whether a row shows where it stands among the others; a row that is known only by its key does not. */
export function isPlaced(row: RowOrNumber): boolean {
  return typeof row === 'number' || row.id !== undefined
}

/** The row as an object, as far as it is known. */
export function rowOf(row: RowOrNumber): Row {
  return typeof row === 'object' ? row : { id: undefined, createdAt: undefined, rowId: row, isKept: true }
}

/** One answer of the service. */
export type WindowAnswer = {
  /** The window that was asked for. */
  readonly window: Window
  /** In the order served. If `rowOrder` is known, rows other than the first and the last may be numbers. */
  readonly rows: readonly RowOrNumber[]
  /** How its rows compare, if known; then all of them have a readable id. */
  readonly rowOrder?: RowOrder | undefined
  /** The number of rows the service says it has. */
  readonly total: number | undefined
  /** The page size the service says it used. */
  readonly perPage: number
  /** The service answered that there is no such page (404); `rows` is empty. */
  readonly beyondEnd: boolean
  /** The number of the stretch of time in which it was read: another one begins after a long pause, and with each window read before an interruption. */
  readonly stretch?: number
}

/**
 * A list of which `readBefore` windows, or rows, were read does not become empty during the scan: an answer that says so is taken
 * like a 404, which says nothing about the list.
 */
export function unlessEmptied(answer: WindowAnswer, readBefore: number): WindowAnswer {
  const isEmptied = answer.rows.length === 0 && answer.total === 0 && readBefore > 0
  return isEmptied ? { ...answer, total: undefined, beyondEnd: true } : answer
}

/**
 * The window that ended a scan early, and why. `not-found`: no rows where the total promises some. `page-cap`: the scan made all
 * the requests it may make before it reached the end.
 */
export type StoppedAt = { readonly window: Window; readonly failure: WindowFailure | 'not-found' | 'page-cap' }

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
