import { hasDuplicates, type Held, type HeldRow } from './held.ts'
import type { Seam } from './seam.ts'

/**
 * The witness is an order by fields that never change, in which every window read so far was sorted. Its candidates:
 * `id`; `created_at` alone, where rows of the same time may stand in any order; `created_at` with `id` among equal times.
 * Each window removes the candidates it contradicts, so the witness costs no memory however long the list is.
 */
export type Witness = {
  readonly name: string
  /** Below zero when the first of two rows stands before the second; zero when they may stand either way. */
  order(times: Order, ids: Order): number
  /** Whether zero means the same row, and not merely the same time. */
  readonly total: boolean
  readonly dated: boolean
}

/** How one row's time, or id, compares with another's. */
type Order = -1 | 0 | 1
type Direction = 1 | -1

const ORDERS: readonly Order[] = [-1, 0, 1]
const DIRECTIONS: readonly Direction[] = [1, -1]

export const WITNESSES: readonly Witness[] = [
  ...DIRECTIONS.map((direction) => byId(direction)),
  ...DIRECTIONS.map((direction) => byTime(direction)),
  ...DIRECTIONS.flatMap((time) => DIRECTIONS.map((id) => byTimeAndId(time, id))),
]

/** Below this page size, so few rows can be in order by chance. */
export const SMALLEST_PAGE = 10
/** Steps from one creation time to another, all in the same direction, before `created_at` is believed. */
const ENOUGH_STEPS = 8
/** Neighbours of equal creation time in `id` order before `id` is believed to order them. */
const ENOUGH_TIES = 12

export class Witnesses {
  readonly #alive = new Set(WITNESSES)
  #steps = 0
  #ties = 0
  #longestTie = 1

  /** Removes the candidates that a window contradicts. */
  observe(held: Held): void {
    if (this.#alive.size === 0) return
    if (hasDuplicates(held)) return this.#alive.clear()
    const met = this.#compareNeighbours(held.rows)
    for (const times of ORDERS) {
      for (const ids of ORDERS) if ((met & flagOf(times, ids)) !== 0) this.#dismissContradicted(times, ids)
    }
  }

  /** The ways in which neighbours compare, as flags: a page has many neighbours and few ways. */
  #compareNeighbours(rows: readonly HeldRow[]): number {
    let met = 0
    let tie = 1
    let undated = false
    let before: HeldRow | undefined
    for (const row of rows) {
      undated ||= row.createdAt === undefined
      if (before !== undefined) {
        const times = compareText(before.createdAt, row.createdAt)
        met |= flagOf(times, compareText(before.id, row.id))
        if (times === 0) this.#ties += 1
        else this.#steps += 1
        tie = times === 0 ? tie + 1 : 1
        if (tie > this.#longestTie) this.#longestTie = tie
      }
      before = row
    }
    if (undated) this.#dismissDated()
    return met
  }

  #dismissContradicted(times: Order, ids: Order): void {
    for (const witness of this.#alive) {
      const order = witness.order(times, ids)
      if (witness.total ? order >= 0 : order > 0) this.#alive.delete(witness)
    }
  }

  /** The most rows of one creation time that stood together in one window, as long as a candidate is left. */
  get longestTie(): number {
    return this.#longestTie
  }

  /** Removes the candidates that two windows contradict together. */
  observeSeam(seam: Seam): void {
    if (seam.redated) this.#dismissDated()
  }

  #dismissDated(): void {
    for (const witness of this.#alive) if (witness.dated) this.#alive.delete(witness)
  }

  /** Whether only `created_at` is left, and equal times stand in no order. */
  get onlyTimes(): boolean {
    return this.#alive.size > 0 && [...this.#alive].every((witness) => witness.dated && !witness.total)
  }

  /** The candidates no window has contradicted, for pages of this size. */
  possible(pageSize: number): readonly Witness[] {
    return pageSize < SMALLEST_PAGE ? [] : [...this.#alive]
  }

  /** The candidates with enough evidence behind them to be believed, for pages of this size. */
  believed(pageSize: number): readonly Witness[] {
    return this.possible(pageSize).filter((witness) => {
      if (!witness.dated) return true
      return witness.total ? this.#ties >= ENOUGH_TIES : this.#steps >= ENOUGH_STEPS
    })
  }
}

/** Below zero when `a` stands before `b` in the order of the witness; zero when they may stand either way. */
export function compareBy(witness: Witness, a: HeldRow, b: HeldRow): number {
  return witness.order(compareText(a.createdAt, b.createdAt), compareText(a.id, b.id))
}

/**
 * Whether no row that stood after `left` can stand before `right`: `right` begins before `left` ends, in this order.
 * Where equal keys may stand either way, it must begin at a smaller key.
 */
export function spans(witness: Witness, left: Held, right: Held): boolean {
  if (right.start === 0) return true
  const last = left.rows.at(-1)
  const first = right.rows[0]
  if (last === undefined || first === undefined) return false
  const order = compareBy(witness, first, last)
  return witness.total ? order <= 0 : order < 0
}

function compareText(a = '', b = ''): Order {
  return a === b ? 0 : a < b ? -1 : 1
}

function flagOf(times: Order, ids: Order): number {
  return 1 << (3 * times + ids + 4)
}

function byId(direction: Direction): Witness {
  const order = (_times: Order, ids: Order) => direction * ids
  return { name: `id ${directionName(direction)}`, order, total: true, dated: false }
}

function byTime(direction: Direction): Witness {
  const order = (times: Order) => direction * times
  return { name: `created_at ${directionName(direction)}`, order, total: false, dated: true }
}

function byTimeAndId(time: Direction, id: Direction): Witness {
  const order = (times: Order, ids: Order) => time * times || id * ids
  return { name: `${byTime(time).name}, ${byId(id).name}`, order, total: true, dated: true }
}

function directionName(direction: Direction): string {
  return direction === 1 ? 'asc' : 'desc'
}
