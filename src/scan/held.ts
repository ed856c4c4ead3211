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
  /** What tells each of `rows` from every other. */
  readonly keys: readonly RowKey[]
  /** Which of them, by their places, had been read before: few, as neighbours share few. */
  readonly again: readonly number[]
  /** Whether it lists a row twice. */
  readonly hasDuplicates: boolean
  /** How many windows were read before it. */
  readonly turn: number
  /** How `rows` compare, each with the next. */
  readonly neighbours: Neighbours
}

/** Who was read so far, and in how many windows. */
export type Sightings = {
  readonly windows: number
  /** True when the row had not been read yet. */
  see(row: ToldRow): boolean
}

export function hold(read: WindowRead, sightings: Sightings): Held {
  const window = { page: read.window.page, size: read.perPage }
  const all = read.rows
  const rows = read.neighbours !== undefined || all.every(isTold) ? all : all.filter(isTold)
  const keys: RowKey[] = []
  const again: number[] = []
  let hasDuplicates = false
  for (const row of rows) {
    const key = keyOf(row)
    if (key === undefined) continue
    if (!sightings.see(row)) {
      hasDuplicates ||= keys.includes(key)
      again.push(keys.length)
    }
    keys.push(key)
  }
  const start = startOf(window)
  const reach = start + all.length
  const neighbours = read.neighbours ?? compareNeighbours(rows.map(rowOf))
  const turn = sightings.windows
  return { window, start, reach, total: read.total, all, rows, keys, again, hasDuplicates, turn, neighbours }
}

function isTold(row: ToldRow): boolean {
  return keyOf(row) !== undefined
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
