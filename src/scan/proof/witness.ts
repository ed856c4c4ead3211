import type { ReadWindow } from '../window/read-window.ts'
import { type Comparison, waysMet } from '../window/row-order.ts'
import type { Overlap } from '../window/overlap.ts'

/**
 * The witness is an order by fields that never change, in which every window read so far was sorted. Its candidates:
 * `id`; `created_at` alone, where rows of the same time may stand in any order; `created_at` with `id` among equal times; and
 * `created_at` without a zone, where an hour that may come twice is one time.
 * Each window removes the candidates it contradicts, so the witness costs no memory however long the list is.
 */
export type Witness = {
  readonly name: string
  /** Below zero when the first of two rows stands before the second; zero when they may stand either way. */
  order(comparison: Comparison): number
  /** Whether zero means the same row, and not merely the same time. */
  readonly total: boolean
  readonly dated: boolean
}

type Direction = 1 | -1

const DIRECTIONS: readonly Direction[] = [1, -1]

export const WITNESSES: readonly Witness[] = [
  ...DIRECTIONS.map((direction) => byId(direction)),
  ...DIRECTIONS.map((direction) => byTime(direction)),
  ...DIRECTIONS.flatMap((time) => DIRECTIONS.map((id) => byTimeAndId(time, id))),
  ...DIRECTIONS.map((direction) => byLocalTime(direction)),
]

/** In pages smaller than this, rows may be in order by chance. */
export const SMALLEST_PAGE = 10
/** Steps from one creation time to another, all in the same direction, before `created_at` is believed. */
const ENOUGH_STEPS = 8
/** Neighbours of equal creation time in `id` order before `id` is believed to order them. */
const ENOUGH_TIES = 12

export class Witnesses {
  readonly #alive = new Set(WITNESSES)
  /** The ways in which neighbours were seen to compare, as flags. */
  #met = 0
  #steps = 0
  #ties = 0
  #longestTie = 1

  /** Removes the candidates that a window contradicts. */
  observe(read: ReadWindow): void {
    if (this.#alive.size === 0) return
    if (read.hasDuplicates) return this.#alive.clear()
    const { rowOrder } = read
    if (rowOrder.undated) this.#dismissDated()
    this.#ties += rowOrder.ties
    this.#steps += rowOrder.steps
    this.#longestTie = Math.max(this.#longestTie, rowOrder.longestTie)
    const unmet = rowOrder.met & ~this.#met
    if (unmet === 0) return
    this.#met |= unmet
    for (const way of waysMet(unmet)) this.#dismissContradicted(way)
  }

  #dismissContradicted(way: Comparison): void {
    for (const witness of this.#alive) {
      const order = witness.order(way)
      if (witness.total ? order >= 0 : order > 0) this.#alive.delete(witness)
    }
  }

  /** The most rows of one creation time that stood together in one window, as long as a candidate is left. */
  get longestTie(): number {
    return this.#longestTie
  }

  /** Removes the candidates that two windows contradict together. */
  observeOverlap(overlap: Overlap): void {
    if (overlap.redated) this.#dismissDated()
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

/**
 * Whether no row that stood after the left window of an overlap can stand before the right one: both windows hold a common row,
 * and if equal keys may stand in any order, the right window must begin at a smaller key than the left one ends.
 */
export function spans(witness: Witness, { shared, ends, atBeginning }: Overlap): boolean {
  if (ends === undefined || atBeginning) return atBeginning
  if (shared === 0) return false
  const order = witness.order(ends)
  return witness.total ? order <= 0 : order < 0
}

function byId(direction: Direction): Witness {
  const order = ({ ids }: Comparison) => direction * ids
  return { name: `id ${directionName(direction)}`, order, total: true, dated: false }
}

function byTime(direction: Direction): Witness {
  const order = ({ times }: Comparison) => direction * times
  return { name: `created_at ${directionName(direction)}`, order, total: false, dated: true }
}

function byLocalTime(direction: Direction): Witness {
  const order = ({ times, isUnsure }: Comparison) => (isUnsure ? 0 : direction * times)
  return { name: `${byTime(direction).name}, repeated hours in any order`, order, total: false, dated: true }
}

function byTimeAndId(time: Direction, id: Direction): Witness {
  const order = ({ times, ids }: Comparison) => time * times || id * ids
  return { name: `${byTime(time).name}, ${byId(id).name}`, order, total: true, dated: true }
}

function directionName(direction: Direction): string {
  return direction === 1 ? 'asc' : 'desc'
}
