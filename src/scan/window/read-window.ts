import { orderOfRows, type RowOrder } from './row-order.ts'
import type { Reason } from '../reasons.ts'
import {
  isPlaced,
  keyOf,
  rowOf,
  startOf,
  type RowKey,
  type RowOrNumber,
  unlessEmptied,
  type Window,
  type WindowAnswer,
} from './window.ts'

/** A window that was read, prepared for the comparison with its neighbours. */
export type ReadWindow = {
  /** The window as served: its size is the one the service used. */
  readonly window: Window
  /** Position of the first row. */
  readonly start: number
  /** Position after the last row. */
  readonly reach: number
  readonly total: number | undefined
  /** The service answered that there is no such page, without a total that could be believed. */
  readonly notFound: boolean
  /** Every row, by its position in the window. */
  readonly all: readonly RowOrNumber[]
  /** The rows with an identity, in the order served. */
  readonly rows: readonly RowOrNumber[]
  /** What identifies each of `rows`. */
  readonly keys: readonly RowKey[]
  /** The places in `rows` of those seen before since counting began; few in a first pass, because neighbours share few rows. */
  readonly again: readonly number[]
  /** Whether it lists a row twice. */
  readonly hasDuplicates: boolean
  /** How many windows were counted before it. */
  readonly turn: number
  /** How `rows` compare, each with the next. */
  readonly rowOrder: RowOrder
  /** The number of the stretch of time in which it was read. */
  readonly stretch: number
}

/** Counts the rows and windows that were read. */
export type Counting = {
  /** Windows counted so far. */
  readonly windows: number
  /** True when the row was not seen since counting began; it is seen from now on. */
  see(row: RowOrNumber): boolean
}

/** Prepares a window and counts its rows as seen. Add the window itself to the coverage next. */
export function prepareWindow(answer: WindowAnswer, counting: Counting): ReadWindow {
  const window = { page: answer.window.page, size: answer.perPage }
  const all = answer.rows
  const rows: RowOrNumber[] = []
  const keys: RowKey[] = []
  const again: number[] = []
  let hasDuplicates = false
  for (const row of all) {
    const key = keyOf(row)
    if (key === undefined) continue
    if (!counting.see(row)) {
      hasDuplicates ||= keys.includes(key)
      again.push(keys.length)
    }
    rows.push(row)
    keys.push(key)
  }
  const start = startOf(window)
  const reach = start + all.length
  const rowOrder = answer.rowOrder ?? orderOfRows(rows.filter(isPlaced).map(rowOf))
  const turn = counting.windows
  const { total, beyondEnd } = unlessEmptied(answer, counting.windows)
  const notFound = beyondEnd && total === undefined && all.length === 0
  const stretch = answer.stretch ?? 1
  return { window, start, reach, total, notFound, all, rows, keys, again, hasDuplicates, turn, rowOrder, stretch }
}

/** Whether the window read the last row of the list, and the service's total says the same. */
export function isEnd(read: ReadWindow): boolean {
  return read.all.length < read.window.size && (read.total === read.reach || isBeyondEnd(read))
}

/** An empty answer for positions the list does not have, as its total says. */
export function isBeyondEnd(read: ReadWindow): boolean {
  return read.all.length === 0 && read.total !== undefined && read.total <= read.start
}

/** The window has neither rows nor a total: it says nothing about the list. */
export function isBlank(read: ReadWindow): boolean {
  return read.all.length === 0 && read.total === undefined
}

/** A short window that its total contradicts: rows were left out, or the total is wrong. */
export function isDoubtful(read: ReadWindow): boolean {
  return read.all.length < read.window.size && !isEnd(read)
}

export function doubtOf(read: ReadWindow): Reason {
  return (read.total ?? 0) > read.reach ? 'short-page' : 'total-mismatch'
}
