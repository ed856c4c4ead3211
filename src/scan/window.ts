import type { WindowFailure } from '../window-failure.ts'
import type { RowOrder } from './row-order.ts'

export type { WindowFailure }

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
  /** Where the caller keeps it: cheaper to compare than an id, and kept in a smaller set. */
  readonly rowId?: number | undefined
  /** It came, or is told, as the caller keeps it. */
  readonly isKept?: boolean | undefined
}

/** A row as the scan is told of it. Of one that is as the caller keeps it the number there may be all. */
export type ToldRow = Row | number

/** What tells a row from every other: where the caller keeps it, which is the cheapest to compare, or else its id. */
export type RowKey = string | number

/** The same for the same row; undefined for one that nobody can tell. */
export function keyOf(row: ToldRow | undefined): RowKey | undefined {
  return typeof row === 'object' ? (row.rowId ?? row.id) : row
}

/** The row in full, as far as it was told. */
export function rowOf(told: ToldRow): Row {
  return typeof told === 'object' ? told : { id: undefined, createdAt: undefined, rowId: told, isKept: true }
}

/** One answer of the service. */
export type WindowAnswer = {
  /** The window that was asked for. */
  readonly window: Window
  /** In the order served. Only where `rowOrder` is known some may be numbers, but not the first, nor the last. */
  readonly rows: readonly ToldRow[]
  /** How its rows compare, where that is known; all of them have a readable id then. */
  readonly rowOrder?: RowOrder | undefined
  /** The number of rows the service says it has. */
  readonly total: number | undefined
  /** The page size the service says it used. */
  readonly perPage: number
  /** The service answered that there is no such page (404); `rows` is empty. */
  readonly beyondEnd: boolean
}

/**
 * A list of which `readBefore` windows, or rows, were read does not become empty meanwhile: an answer that says so says nothing
 * about the list, like one that there is no such page.
 */
export function unlessEmptied(answer: WindowAnswer, readBefore: number): WindowAnswer {
  const isEmptied = answer.rows.length === 0 && answer.total === 0 && readBefore > 0
  return isEmptied ? { ...answer, total: undefined, beyondEnd: true } : answer
}

/**
 * The window at which a reading stopped for good, and why; `not-found`: it came empty where the total promises rows; `page-cap`:
 * as many requests as it may make did not lead to the end.
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
