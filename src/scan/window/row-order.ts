import { sortableInstant } from './created-at.ts'
import { lieInRepeatedHours } from './repeated-hours.ts'
import type { Row } from './window.ts'

/** How one time, or id, compares with another. */
export type Order = -1 | 0 | 1
const ORDERS: readonly Order[] = [-1, 0, 1]

/** How one row compares with another by its creation time, and by its id. */
export type Comparison = {
  readonly times: Order
  readonly ids: Order
  /** The times are different, and lie in hours that may come twice: then either row may be the older one. */
  readonly isUnsure: boolean
}

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
  /** How many rows at the end have one time, or times in the same repeated hours; unknown in an outline of an earlier version. */
  readonly unsureAtEnd?: number
  /** Whether any has no readable creation time. */
  readonly undated: boolean
}

/** The order of rows that have a readable id, in the order served. */
export function orderOfRows(rows: readonly Row[]): RowOrder {
  const comparisons = new Uint8Array(rows.length)
  compareEach(comparisons, (place) => rows[place])
  return orderOf(comparisons)
}

/** A comparison is a number from 1 to 15 for the way in which two rows compare, 0 where there is no other, and a flag. */
const [DATED, UNDATED] = [16, 32]

/**
 * Compares each row with the next one, and notes whether it has a readable creation time, in a byte a row that is never 0. Bytes
 * that are given are kept, and their rows are not asked for.
 */
export function compareEach(comparisons: Uint8Array, rowAt: (place: number) => Row | undefined): void {
  let comparedAt = -1
  let instantThere: string | undefined
  for (let place = 0; place < comparisons.length; place += 1) {
    if (comparisons[place] !== 0) continue
    const row = rowAt(place)
    const instant = comparedAt === place ? instantThere : sortableInstant(row?.createdAt)
    const dated = instant === undefined ? UNDATED : DATED
    comparisons[place] = dated
    if (place === comparisons.length - 1) return
    const next = rowAt(place + 1)
    comparedAt = place + 1
    instantThere = sortableInstant(next?.createdAt)
    const times = compareText(instant, instantThere)
    const isUnsure = times !== 0 && lieInRepeatedHours(row?.createdAt, next?.createdAt)
    comparisons[place] = dated + 1 + wayOf({ times, ids: compareText(row?.id, next?.id), isUnsure })
  }
}

/** The order of the rows that were compared so; what the last compares with does not count. */
export function orderOf(comparisons: Uint8Array): RowOrder {
  const some = comparisons.length > 0 ? 1 : 0
  let [met, ties, longestTie, tie, unsure] = [0, 0, 1, some, some]
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
    unsure = isTie || way >= UNSURE_FROM ? unsure + 1 : 1
    if (isTie) ties += 1
    if (tie > longestTie) longestTie = tie
  }
  return { met, ties, steps: Math.max(0, last - ties), longestTie, tieAtEnd: tie, unsureAtEnd: unsure, undated }
}

/** The ways in which neighbours compare, by their flags. */
export function* waysMet(met: RowOrder['met']): Generator<Comparison> {
  for (const way of WAYS) if ((met & (1 << wayOf(way))) !== 0) yield way
}

export function compareRows(one: Row, other: Row): Comparison {
  const times = compareText(sortableInstant(one.createdAt), sortableInstant(other.createdAt))
  const isUnsure = times !== 0 && lieInRepeatedHours(one.createdAt, other.createdAt)
  return { times, ids: compareText(one.id, other.id), isUnsure }
}

function compareText(one = '', other = ''): Order {
  return one === other ? 0 : one < other ? -1 : 1
}

/** From 0 to 8, and from 9 to 14 for times that are not sure. */
function wayOf({ times, ids, isUnsure }: Comparison): number {
  if (isUnsure) return UNSURE_FROM + (times < 0 ? 1 : 4) + ids
  return 3 * times + ids + 4
}

const WAYS: readonly Comparison[] = ORDERS.flatMap((times) =>
  ORDERS.flatMap((ids) => [false, ...(times === 0 ? [] : [true])].map((isUnsure) => ({ times, ids, isUnsure }))),
)

/** The lowest way of times that are not sure, and the lowest in which rows of one creation time compare. */
const UNSURE_FROM = 9
const TIE_FROM = 3
