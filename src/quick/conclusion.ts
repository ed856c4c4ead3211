import { isExplained, type Comparison, type Cut, type ExpectedOrder, type Gap } from './parts.ts'
import type { Span } from '../scan/window.ts'

/** What the pages read show. */
export type Conclusion = {
  /** Rows that left their places, and that stand nowhere in the list as far as it was read or is trusted. */
  readonly gone: readonly number[]
  /** Rows that left their places, while parts of the list are unknown to which they may have moved. */
  readonly pending: readonly number[]
  /**
   * Those of the rows gone that need no search: they left their places in this run, in an order that no change of a customer alters. A row that
   * an earlier run missed may have come back since, to a part that was not read and that another row has left.
   */
  readonly certain: readonly number[]
  /** Whether rows are expected between two pages, or behind the last one that has a row as expected, and no page shows them. */
  readonly isAnyUnmet: boolean
  /** Pages that were not read, and that are trusted to hold the rows expected there. */
  readonly trustedPages: number
  /** The row numbers in list order, 0 for a record without a customer; undefined where the rows stand in another order altogether. */
  readonly laterOrder: readonly number[] | undefined
}

/** What else is known: rows that an earlier run missed, and whether the rows read stand in an order that no change of a customer alters. */
type Known = {
  readonly size: number
  readonly isEndKnown: boolean
  readonly orderStays: boolean
  readonly pending: readonly number[]
}

/** In a list without an order some rows always stand as expected. With so many known rows to each of these, the list has another order. */
const MOST_MOVED = 5

/**
 * A row is gone from its place where one answer shows both neighbours and not the row. It may have moved, to a part that was not
 * read: only where the counts explain every such part, it has left the list. That holds in an order that no change of a customer alters too:
 * the order expected may be wrong at one row, where the list changed while it was read. Where more records than before may be any
 * customer's, the row may be one of these: the next full run decides.
 */
export function conclude(
  cuts: readonly Cut[],
  { kept, known, gaps }: Comparison,
  expected: ExpectedOrder,
  { size, isEndKnown, orderStays, pending }: Known,
): Conclusion {
  const read = new Set(cuts.flatMap(({ rowIds }) => rowIds))
  const left = new Set(gaps.flatMap((gap) => (gap.isOneCut ? leftFrom(gap, expected) : [])))
  const missed = [...new Set([...left, ...pending])].filter((rowId) => !read.has(rowId))
  const areExplained = gaps.every((gap) => gap.holes.length === 0 || isExplained(gap))
  const isWhole = isEndKnown && areExplained && !isAnyMetTwice(cuts)
  // The rows expected where all positions were read, in more than one answer.
  const between = gaps.filter(({ isOneCut, holes }) => !isOneCut && holes.length === 0)
  const unmet = between.flatMap(({ places }) => rowsAt(places, expected))
  const trusted = gaps.filter(isExplained).reduce((sum, { unread }) => sum + unread, 0)
  return {
    gone: isWhole ? missed : [],
    pending: isWhole ? [] : missed,
    certain: isWhole && orderStays ? missed.filter((rowId) => left.has(rowId)) : [],
    isAnyUnmet: unmet.some((rowId) => rowId !== 0 && !read.has(rowId)),
    trustedPages: Math.round(trusted / size),
    laterOrder: known <= MOST_MOVED * kept ? foundOrder(cuts, gaps, expected) : undefined,
  }
}

/**
 * Whether a row stands in two parts of the list that share no position. Then the counts explain nothing: one row was met twice, so another
 * listed row was not met at all.
 */
function isAnyMetTwice(cuts: readonly Cut[]): boolean {
  const metIn = new Map<number, { start: number; reach: number }>()
  for (const { start, reach, rowIds } of cuts) {
    for (const rowId of rowIds) {
      const before = metIn.get(rowId) ?? { start, reach }
      // The last beginning and the first end of all cuts that show it.
      const common = { start: Math.max(start, before.start), reach: Math.min(reach, before.reach) }
      if (rowId !== 0 && common.reach <= common.start) return true
      metIn.set(rowId, common)
    }
  }
  return false
}

/** The rows that one answer shows to be gone from their places; none where a record there may be one of them. */
function leftFrom({ places, nameless }: Gap, expected: ExpectedOrder): number[] {
  const rowIds = rowsAt(places, expected)
  const left = rowIds.filter((rowId) => rowId !== 0)
  return nameless > rowIds.length - left.length ? [] : left
}

function rowsAt(spans: readonly Span[], { rowIds }: ExpectedOrder): number[] {
  return spans.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => rowIds[from + index] ?? 0))
}

/**
 * The order of the list as it stands now: the rows that were read at their positions, and between them those expected there. Rows
 * that left a part read in one answer are not in it.
 */
function foundOrder(cuts: readonly Cut[], gaps: readonly Gap[], expected: ExpectedOrder): number[] {
  const expectedThere = gaps.flatMap(({ places, holes, isOneCut, seam }) => {
    const rest = isOneCut ? [] : rowsAt(places, expected)
    const filled = holes
      .slice(0, -1)
      .map(({ from, to }) => ({ from, rowIds: rest.splice(0, to - from), isRead: false }))
    return [...filled, { from: holes.at(-1)?.from ?? seam, rowIds: rest, isRead: false }]
  })
  const read = cuts.map(({ start, rowIds }) => ({ from: start, rowIds, isRead: true }))
  const order: number[] = []
  const added = new Set<number>()
  let reach = 0
  // What is expected before a position comes before what was read there.
  for (const { from, rowIds, isRead } of [...expectedThere, ...read].toSorted((one, other) => one.from - other.from)) {
    // By index: a position beyond 2^53, as a wrong total gives it, does not grow by one.
    for (const [at, rowId] of rowIds.entries()) {
      if ((isRead && from + at < reach) || added.has(rowId)) continue
      if (rowId !== 0) added.add(rowId)
      order.push(rowId)
    }
    if (isRead) reach = Math.max(reach, from + rowIds.length)
  }
  return order
}
