import type { Held, HeldRow } from './held.ts'
import type { Seam } from './seam.ts'

/**
 * The witness is an order by fields that never change, in which every window read so far was sorted. Its candidates:
 * `id`; `created_at` alone, where rows of the same time may stand in any order; `created_at` with `id` among equal times.
 * Each window removes the candidates it contradicts, so the witness costs no memory however long the list is.
 */
export type Witness = {
  readonly name: string
  /** Below zero when `a` stands before `b`; zero when they may stand either way. */
  compare(a: HeldRow, b: HeldRow): number
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

  /** Removes the candidates that a window contradicts. */
  observe(held: Held): void {
    if (new Set(held.rows.map((row) => row.id)).size < held.rows.length) return this.#alive.clear()
    if (held.rows.some((row) => row.createdAt === undefined)) this.#dismissDated()
    for (const [place, row] of held.rows.entries()) {
      const before = held.rows[place - 1]
      if (before === undefined) continue
      if (before.createdAt === row.createdAt) this.#ties += 1
      else this.#steps += 1
      for (const witness of this.#alive) if (contradicts(witness, before, row)) this.#alive.delete(witness)
    }
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

function contradicts(witness: Witness, before: HeldRow, row: HeldRow): boolean {
  const order = witness.compare(before, row)
  return witness.total ? order >= 0 : order > 0
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
  const order = witness.compare(first, last)
  return witness.total ? order <= 0 : order < 0
}

function compareText(a: string | undefined, b: string | undefined): number {
  const [left, right] = [a ?? '', b ?? '']
  return left < right ? -1 : left > right ? 1 : 0
}

function byId(direction: Direction): Witness {
  const compare = (a: HeldRow, b: HeldRow) => direction * compareText(a.id, b.id)
  return { name: `id ${directionName(direction)}`, compare, total: true, dated: false }
}

function byTime(direction: Direction): Witness {
  const compare = (a: HeldRow, b: HeldRow) => direction * compareText(a.createdAt, b.createdAt)
  return { name: `created_at ${directionName(direction)}`, compare, total: false, dated: true }
}

function byTimeAndId(time: Direction, id: Direction): Witness {
  const [times, ids] = [byTime(time), byId(id)]
  const compare = (a: HeldRow, b: HeldRow) => times.compare(a, b) || ids.compare(a, b)
  return { name: `${times.name}, ${ids.name}`, compare, total: true, dated: true }
}

function directionName(direction: Direction): string {
  return direction === 1 ? 'asc' : 'desc'
}
