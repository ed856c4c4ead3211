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
  let [met, ties, longestTie, tie] = [0, 0, 1, 0]
  let undated = false
  let before: Row | undefined
  let instantBefore: string | undefined
  for (const row of rows) {
    const instant = sortableInstant(row.createdAt)
    undated ||= instant === undefined
    const times = before === undefined ? 0 : compareText(instantBefore, instant)
    tie = times === 0 ? tie + 1 : 1
    if (before !== undefined) {
      met |= flagOf(times, compareText(before.id, row.id))
      if (times === 0) ties += 1
      if (tie > longestTie) longestTie = tie
    }
    before = row
    instantBefore = instant
  }
  return { met, ties, steps: Math.max(0, rows.length - 1 - ties), longestTie, tieAtEnd: tie, undated }
}

/** The ways in which neighbours compare, by their flags. */
export function* waysMet(met: RowOrder['met']): Generator<Comparison> {
  for (const times of ORDERS) for (const ids of ORDERS) if ((met & flagOf(times, ids)) !== 0) yield { times, ids }
}

export function compareRows(one: Row, other: Row): Comparison {
  const times = compareText(sortableInstant(one.createdAt), sortableInstant(other.createdAt))
  return { times, ids: compareText(one.id, other.id) }
}

function compareText(one = '', other = ''): Order {
  return one === other ? 0 : one < other ? -1 : 1
}

function flagOf(times: Order, ids: Order): number {
  return 1 << (3 * times + ids + 4)
}
