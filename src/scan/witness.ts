import { compareRows, type Comparison, waysMet } from '../list/row-order.ts'
import type { Seam } from './seam.ts'
import type { ReadWindow } from './window.ts'

/** An order by fields that never change, in which every window read so far was sorted. */
export type Witness = {
  readonly name: string
  /** Below zero when the first of two rows stands before the second; zero when they may stand either way. */
  readonly order: (comparison: Comparison) => number
  /** Whether zero means the same row, and not merely the same time. */
  readonly isTotal: boolean
  readonly isDated: boolean
}

type Direction = 1 | -1

const DIRECTIONS: readonly Direction[] = [1, -1]

const WITNESSES: readonly Witness[] = [
  ...DIRECTIONS.map((direction) => byId(direction)),
  ...DIRECTIONS.map((direction) => byTime(direction)),
  ...DIRECTIONS.flatMap((time) => DIRECTIONS.map((id) => byTimeAndId(time, id))),
]

/** In pages smaller than this, rows may be in order by chance. */
const SMALLEST_PAGE = 10
/** Steps from one creation time to another, all in the same direction, before `created_at` is believed. */
const ENOUGH_STEPS = 8
/** Neighbours of equal creation time in the order of their ids before ids are believed to order them. */
const ENOUGH_TIES = 24

/** The witnesses that no window has contradicted, and those of them that span every seam of the chain. */
export class Witnesses {
  readonly #alive = new Set(WITNESSES)
  readonly #spanning = new Set(WITNESSES)
  /** The ways in which neighbours were seen to compare, as flags. */
  #met = 0
  #steps = 0
  #ties = 0

  /** Removes the witnesses that a window contradicts. */
  observe({ keys, places, rowOrder }: Pick<ReadWindow, 'keys' | 'places' | 'rowOrder'>): void {
    if (this.#alive.size === 0) return
    if (places.size < keys.length) return this.#alive.clear()
    this.#ties += rowOrder.ties
    this.#steps += rowOrder.steps
    const unmet = rowOrder.met & ~this.#met
    this.#met |= unmet
    for (const witness of this.#alive) {
      const isContradicted = [...waysMet(unmet)].some((way) => isAgainst(witness, way))
      if (isContradicted || (rowOrder.undated && witness.isDated)) this.#alive.delete(witness)
    }
  }

  /** Whether an order shows that no row can stand between two windows: they share one, and the right one begins before the left one ends. */
  spans(seam: Seam, left: ReadWindow, right: ReadWindow): boolean {
    return this.hopes.some((witness) => isSpannedBy(witness, seam, left, right))
  }

  /** Two windows were linked: the witnesses that do not span their seam vouch for the list no more. */
  link(seam: Seam, left: ReadWindow, right: ReadWindow): void {
    for (const witness of this.#spanning) if (!isSpannedBy(witness, seam, left, right)) this.#spanning.delete(witness)
  }

  /** Positions between two windows were left unread. */
  cut(): void {
    this.#spanning.clear()
  }

  /** Those that may still vouch for the list. */
  get hopes(): readonly Witness[] {
    return [...this.#spanning].filter(
      (witness) => this.#alive.has(witness) && (!orderedByIdToo(witness) || this.#ties >= ENOUGH_TIES),
    )
  }

  /** Whether the rows read stand in an order that no change of a customer alters, for pages of this size. */
  hasOrder(pageSize: number): boolean {
    return pageSize >= SMALLEST_PAGE && [...this.#alive].some((witness) => this.#isProbable(witness))
  }

  /** The witness that vouches for the whole chain; undefined if none does. */
  believed(pageSize: number): string | undefined {
    if (pageSize < SMALLEST_PAGE) return undefined
    return this.hopes.find((witness) => this.#isProbable(witness))?.name
  }

  #isProbable(witness: Witness): boolean {
    if (!witness.isDated) return true
    return witness.isTotal ? this.#ties >= ENOUGH_TIES : this.#steps >= ENOUGH_STEPS
  }
}

function isAgainst({ order, isTotal }: Witness, way: Comparison): boolean {
  return isTotal ? order(way) >= 0 : order(way) > 0
}

function orderedByIdToo({ isTotal, isDated }: Witness): boolean {
  return isTotal && isDated
}

function isSpannedBy({ order, isTotal }: Witness, { shared }: Seam, left: ReadWindow, right: ReadWindow): boolean {
  if (right.start === 0) return true
  if (shared === 0 || left.ends === undefined || right.ends === undefined) return false
  const comparison = compareRows(right.ends[0], left.ends[1])
  return isTotal ? order(comparison) <= 0 : order(comparison) < 0
}

function byId(direction: Direction): Witness {
  const order = ({ ids }: Comparison) => direction * ids
  return { name: `id ${nameOf(direction)}`, order, isTotal: true, isDated: false }
}

function byTime(direction: Direction): Witness {
  const order = ({ times }: Comparison) => direction * times
  return { name: `created_at ${nameOf(direction)}`, order, isTotal: false, isDated: true }
}

function byTimeAndId(time: Direction, id: Direction): Witness {
  const order = ({ times, ids }: Comparison) => time * times || id * ids
  return { name: `${byTime(time).name}, ${byId(id).name}`, order, isTotal: true, isDated: true }
}

function nameOf(direction: Direction): string {
  return direction === 1 ? 'asc' : 'desc'
}
