import { sortableInstant } from './created-at.ts'
import type { Row } from './window.ts'

/** How one time, or id, compares with another. */
export type Order = -1 | 0 | 1
const ORDERS: readonly Order[] = [-1, 0, 1]

/** How one row compares with another by its creation time, and by its id. */
export type Comparison = { readonly times: Order; readonly ids: Order }

/** How the rows of a window compare, each with the next, in a few numbers. */
export type RowOrder = {
  /** The ways in which they compare, as flags: a page has many neighbours and few ways. */
  readonly met: number
  /** Neighbours of the same creation time, and of different ones. */
  readonly ties: number
  readonly steps: number
  /** The most rows of one creation time that stand together, and how many do at the end. */
  readonly longestTie: number
  readonly tieAtEnd: number
  /** Whether any has no readable creation time. */
  readonly undated: boolean
}

/** The order of rows that have a readable id, in the order served. */
export function orderOfRows(rows: readonly Row[]): RowOrder {
  const comparisons = new Uint8Array(rows.length)
  compareEach(comparisons, (place) => rows[place])
  return orderOf(comparisons)
}

/** A comparison is a number below 16 for the way in which two rows compare, 0 where there is no other, and a flag. */
const [DATED, UNDATED] = [16, 32]

/**
 * Compares each row with the next one, and notes whether it has a readable creation time, in a byte a row that is never 0. Bytes
 * that are given are kept, and their rows are not asked for.
 */
export function compareEach(comparisons: Uint8Array, rowAt: (place: number) => Row | undefined): void {
  let [comparedAt, instantThere]: [number, string | undefined] = [-1, undefined]
  for (let place = 0; place < comparisons.length; place += 1) {
    if (comparisons[place] !== 0) continue
    const row = rowAt(place)
    const instant = comparedAt === place ? instantThere : sortableInstant(row?.createdAt)
    const dated = instant === undefined ? UNDATED : DATED
    comparisons[place] = dated
    if (place === comparisons.length - 1) return
    const next = rowAt(place + 1)
    ;[comparedAt, instantThere] = [place + 1, sortableInstant(next?.createdAt)]
    comparisons[place] = dated + 1 + wayOf(compareText(instant, instantThere), compareText(row?.id, next?.id))
  }
}

/** The order of the rows that were compared so; what the last compares with does not count. */
export function orderOf(comparisons: Uint8Array): RowOrder {
  let [met, ties, longestTie, tie] = [0, 0, 1, comparisons.length > 0 ? 1 : 0]
  let undated = false
  const last = comparisons.length - 1
  for (let place = 0; place <= last; place += 1) {
    const comparison = Number(comparisons[place])
    undated ||= comparison >= UNDATED
    if (place === last) break
    const way = (comparison % DATED) - 1
    const isTie = way >= TIE_FROM && way < TIE_FROM + ORDERS.length
    met |= 1 << way
    tie = isTie ? tie + 1 : 1
    if (isTie) ties += 1
    if (tie > longestTie) longestTie = tie
  }
  return { met, ties, steps: Math.max(0, last - ties), longestTie, tieAtEnd: tie, undated }
}

/** The ways in which neighbours compare, by their flags. */
export function* waysMet(met: RowOrder['met']): Generator<Comparison> {
  for (const times of ORDERS) for (const ids of ORDERS) if ((met & (1 << wayOf(times, ids))) !== 0) yield { times, ids }
}

export function compareRows(one: Row, other: Row): Comparison {
  const times = compareText(sortableInstant(one.createdAt), sortableInstant(other.createdAt))
  return { times, ids: compareText(one.id, other.id) }
}

function compareText(one = '', other = ''): Order {
  return one === other ? 0 : one < other ? -1 : 1
}

/** From 0 to 8. */
function wayOf(times: Order, ids: Order): number {
  return 3 * times + ids + 4
}

/** The lowest way in which rows of one creation time compare. */
const TIE_FROM = wayOf(0, -1)
