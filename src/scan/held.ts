import { compareNeighbours, type Neighbours } from './neighbours.ts'
import { keyOf, rowOf, startOf, type RowKey, type ToldRow, type Window, type WindowRead } from './window.ts'

/** A window that was read, made ready for comparing with its neighbours. */
export type Held = {
  /** The window as served: its size is the one the service used. */
  readonly window: Window
  /** Position of the first row. */
  readonly start: number
  /** Position after the last row. */
  readonly reach: number
  readonly total: number | undefined
  /** Every row, by its position in the window. */
  readonly all: readonly ToldRow[]
  /** The rows that can be told from every other, in the order served. */
  readonly rows: readonly ToldRow[]
  /** Where each row stands among `rows`, for the last time where it stands there twice. */
  readonly places: ReadonlyMap<RowKey, number>
  /** How `rows` compare, each with the next. */
  readonly neighbours: Neighbours
}

export function hold(read: WindowRead): Held {
  const window = { page: read.window.page, size: read.perPage }
  const all = read.rows
  const rows = all.every(isTold) ? all : all.filter(isTold)
  const places = new Map<RowKey, number>()
  for (let place = 0; place < rows.length; place += 1) {
    const key = keyOf(rows[place])
    if (key !== undefined) places.set(key, place)
  }
  const start = startOf(window)
  const neighbours = read.neighbours ?? compareNeighbours(rows.map(rowOf))
  return { window, start, reach: start + all.length, total: read.total, all, rows, places, neighbours }
}

function isTold(row: ToldRow): boolean {
  return keyOf(row) !== undefined
}

/** Whether the window lists a row twice. */
export function hasDuplicates(held: Held): boolean {
  return held.places.size < held.rows.length
}

/** Whether the window held the last row of the list, and the service's total says the same. */
export function isEnd(held: Held): boolean {
  return held.all.length < held.window.size && (held.total === held.reach || isBeyondEnd(held))
}

/** An empty answer for positions the list does not have, as its total says. */
export function isBeyondEnd(held: Held): boolean {
  return held.all.length === 0 && held.total !== undefined && held.total <= held.start
}

/** A short window whose total tells another story: rows were left out, or the total is wrong. */
export function isDoubtful(held: Held): boolean {
  return held.all.length < held.window.size && !isEnd(held)
}
