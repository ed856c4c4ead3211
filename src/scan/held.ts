import { compareNeighbours, type Neighbours } from './neighbours.ts'
import type { Reason } from './reasons.ts'
import {
  keyOf,
  rowOf,
  startOf,
  type RowKey,
  type ToldRow,
  unlessEmptied,
  type Window,
  type WindowRead,
} from './window.ts'

/** A window that was read, made ready for comparing with its neighbours. */
export type Held = {
  /** The window as served: its size is the one the service used. */
  readonly window: Window
  /** Position of the first row. */
  readonly start: number
  /** Position after the last row. */
  readonly reach: number
  readonly total: number | undefined
  /** The service answered that there is no such page, and said nothing to be believed of the list's length. */
  readonly notFound: boolean
  /** Every row, by its position in the window. */
  readonly all: readonly ToldRow[]
  /** The rows that can be told from every other, in the order served. */
  readonly rows: readonly ToldRow[]
  /** What tells each of `rows` from every other. */
  readonly keys: readonly RowKey[]
  /** Which of them, by their places, were seen before since counting began: in a first pass few, as neighbours share few. */
  readonly again: readonly number[]
  /** Whether it lists a row twice. */
  readonly hasDuplicates: boolean
  /** How many windows were counted before it. */
  readonly turn: number
  /** How `rows` compare, each with the next. */
  readonly neighbours: Neighbours
}

/** What a tally tells of the rows and windows it counts. */
export type Counting = {
  /** Windows counted so far. */
  readonly windows: number
  /** True when the row was not seen since counting began; it is seen from now on. */
  see(row: ToldRow): boolean
}

/** Makes a window ready, and has its rows counted as seen. The window itself is to be added to the tally next. */
export function hold(read: WindowRead, counting: Counting): Held {
  const window = { page: read.window.page, size: read.perPage }
  const all = read.rows
  const rows: ToldRow[] = []
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
  const neighbours = read.neighbours ?? compareNeighbours(rows.map(rowOf))
  const turn = counting.windows
  const { total, beyondEnd } = unlessEmptied(read, counting.windows)
  const notFound = beyondEnd && total === undefined && all.length === 0
  return { window, start, reach, total, notFound, all, rows, keys, again, hasDuplicates, turn, neighbours }
}

/** Whether the window held the last row of the list, and the service's total says the same. */
export function isEnd(held: Held): boolean {
  return held.all.length < held.window.size && (held.total === held.reach || isBeyondEnd(held))
}

/** An empty answer for positions the list does not have, as its total says. */
export function isBeyondEnd(held: Held): boolean {
  return held.all.length === 0 && held.total !== undefined && held.total <= held.start
}

/** Neither rows nor a total: it says nothing of the list. */
export function isBlank(held: Held): boolean {
  return held.all.length === 0 && held.total === undefined
}

/** A short window whose total tells another story: rows were left out, or the total is wrong. */
export function isDoubtful(held: Held): boolean {
  return held.all.length < held.window.size && !isEnd(held)
}

export function doubtOf(held: Held): Reason {
  return (held.total ?? 0) > held.reach ? 'short-page' : 'total-mismatch'
}
