import type { Row } from '../model/customer.ts'
import { sortableInstant } from '../time/moments.ts'

type Order = -1 | 0 | 1
const ORDERS: readonly Order[] = [-1, 0, 1]

/** How one row compares with another by its creation time, and by its id. */
export type RowComparison = { readonly times: Order; readonly ids: Order }

/** How the rows of a window compare, each with the next, in a few numbers. */
export type RowOrder = Readonly<ReturnType<typeof orderOf>>

/** The order of rows that have a readable id, in the order served. */
export function orderOfRows(rows: readonly Row[]): RowOrder {
  const comparisons = new Uint8Array(rows.length)
  compareEach(comparisons, (place) => rows[place])
  return orderOf(comparisons)
}

/** A comparison is a number from 1 to 9 for the way in which two rows compare, 0 where there is no other, and a flag. */
const [DATED, UNDATED] = [16, 32]

/** Compares each row with the next, and notes whether its time is readable, in a byte that is never 0. Rows of given bytes are left out. */
export function compareEach(comparisons: Uint8Array, rowAt: (place: number) => Row | undefined): void {
  // Most rows are the next of the one before: their times are read once.
  let ahead: { place: number; instant: string | undefined } | undefined
  for (const [place, known] of comparisons.entries()) {
    const row = known === 0 ? rowAt(place) : undefined
    if (row === undefined) continue
    const instant = ahead?.place === place ? ahead.instant : sortableInstant(row.createdAt)
    const dated = instant === undefined ? UNDATED : DATED
    const next = place + 1 < comparisons.length ? rowAt(place + 1) : undefined
    ahead = next && { place: place + 1, instant: sortableInstant(next.createdAt) }
    const way = 3 * compareText(instant, ahead?.instant) + compareText(row.id, next?.id) + 4
    comparisons[place] = next === undefined ? dated : dated + 1 + way
  }
}

/** The order of the rows that were compared so; what the last compares with does not count. */
export function orderOf(comparisons: Uint8Array) {
  let [met, ties, tieAtEnd] = [0, 0, comparisons.length > 0 ? 1 : 0]
  let undated = false
  const last = comparisons.length - 1
  for (let place = 0; place <= last; place += 1) {
    const comparison = Number(comparisons[place])
    undated ||= comparison >= UNDATED
    if (place === last) break
    const way = (comparison % DATED) - 1
    const isTie = WAYS[way]?.times === 0
    met |= 1 << way
    tieAtEnd = isTie ? tieAtEnd + 1 : 1
    if (isTie) ties += 1
  }
  return {
    /** The ways in which they compare: a page has many neighbours and few ways. */
    ways: WAYS.filter((_, way) => (met & (1 << way)) !== 0),
    /** Neighbours of the same creation time, and of different ones. */
    ties,
    steps: Math.max(0, last - ties),
    /** How many rows at the end have one creation time. */
    tieAtEnd,
    undated,
  }
}

export function compareRows(one: Row, other: Row): RowComparison {
  const times = compareText(sortableInstant(one.createdAt), sortableInstant(other.createdAt))
  return { times, ids: compareText(one.id, other.id) }
}

function compareText(one = '', other = ''): Order {
  return one === other ? 0 : one < other ? -1 : 1
}

/** By their numbers, 3 * times + ids + 4: the middle three are those of rows of one creation time. */
const WAYS: readonly RowComparison[] = ORDERS.flatMap((times) => ORDERS.map((ids) => ({ times, ids })))
