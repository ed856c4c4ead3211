import type { Row } from '../model/customer.ts'
import { compareRows, type RowComparison } from './row-order.ts'
import type { Seam } from './seam.ts'
import type { ReadWindow } from './window.ts'

/** An order by fields that never change, in which every window read so far was sorted: 1 ascending, -1 descending, 0 not by this field. */
type Witness = { readonly time: 1 | -1 | 0; readonly id: 1 | -1 | 0 }

const DIRECTIONS = [0, 1, -1] as const
const [, ...WITNESSES]: readonly Witness[] = DIRECTIONS.flatMap((time) => DIRECTIONS.map((id) => ({ time, id })))

/** In pages smaller than this, rows may be in order by chance. */
const SMALLEST_PAGE = 10
/** Steps from one creation time to another, all in the same direction, before `created_at` is believed. */
const ENOUGH_STEPS = 8
/** Neighbours of equal creation time in the order of their ids before ids are believed to order them. */
const ENOUGH_TIES = 24

/** The witnesses that no window has contradicted, and that span every seam of the chain. */
export function allWitnesses() {
  const left = new Set(WITNESSES)
  let steps = 0
  let ties = 0
  const hopes = () =>
    [...left].filter(({ time, id }) => time === 0 || (id === 0 ? steps >= ENOUGH_STEPS : ties >= ENOUGH_TIES))
  return {
    hopes,
    /** Removes the witnesses that a window contradicts. */
    observe({ rowOrder }: ReadWindow): void {
      ties += rowOrder.ties
      steps += rowOrder.steps
      for (const witness of left) {
        const isContradicted = rowOrder.ways.some((way) => isAgainst(witness, way))
        if (isContradicted || (rowOrder.undated && witness.time !== 0)) left.delete(witness)
      }
    },
    /** Whether an order shows that no row can stand between two windows: they share one, and the right one begins before the left one ends. */
    spans(seam: Seam, before: ReadWindow, after: ReadWindow): boolean {
      return hopes().some((witness) => isSpannedBy(witness, seam, before, after))
    },
    /** Two windows were linked: the witnesses that do not span their seam vouch for the list no more. */
    link(seam: Seam, before: ReadWindow, after: ReadWindow): void {
      for (const witness of left) if (!isSpannedBy(witness, seam, before, after)) left.delete(witness)
    },
    /** Whether a row stands before another one by each of them. */
    isBefore: (one: Row, other: Row) => hopes().every((witness) => orderBy(witness, compareRows(one, other)) < 0),
    /** The witness that vouches for all windows linked, in pages of this size: an order that no change of a customer alters; undefined without one. */
    believed(pageSize: number): string | undefined {
      const [witness] = hopes()
      return pageSize < SMALLEST_PAGE ? undefined : witness && nameOf(witness)
    },
  }
}

/** Below zero when the first of two rows stands before the second; zero when they may stand either way, or are one. */
function orderBy({ time, id }: Witness, { times, ids }: RowComparison): number {
  return time * times || id * ids
}

function isAgainst(witness: Witness, way: RowComparison): boolean {
  const order = orderBy(witness, way)
  return order > 0 || (order === 0 && witness.id !== 0)
}

function isSpannedBy(witness: Witness, { shared }: Seam, left: ReadWindow, right: ReadWindow): boolean {
  if (right.start === 0) return true
  if (shared === 0 || left.ends === undefined || right.ends === undefined) return false
  const order = orderBy(witness, compareRows(right.ends[0], left.ends[1]))
  return order < 0 || (order === 0 && witness.id !== 0)
}

function nameOf({ time, id }: Witness): string {
  const fields = Object.entries({ created_at: time, id }).filter(([, direction]) => direction !== 0)
  return fields.map(([field, direction]) => `${field} ${direction === 1 ? 'asc' : 'desc'}`).join(', ')
}
