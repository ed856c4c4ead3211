import type { Block, Cut, ExpectedOrder } from './cut.ts'
import { isExplained, type Comparison, type Gap, type Span } from './gaps.ts'
import { foundOrder } from './found-order.ts'

/** What the pages read show. */
export type Conclusion = {
  /** Rows that left their places, and that stand nowhere in the list as far as it was read or is trusted. */
  readonly gone: readonly number[]
  /** Rows that left their places, while parts of the list are unknown to which they may have moved. */
  readonly pending: readonly number[]
  /**
   * Those of the rows gone that need no search: they were seen to leave their places in this run, in an order that no change of a customer
   * alters, so they stand nowhere else. A row that an earlier run missed may have come back since, to a part that was not read and that
   * another row has left.
   */
  readonly certain: readonly number[]
  /** Whether rows are expected between two pages, or behind the last one that has a row as expected, and no page shows them. */
  readonly isAnyUnmet: boolean
  /** Pages that were not read, and that are trusted to hold the rows expected there. */
  readonly trustedPages: number
  /** The row numbers in list order, 0 for a record without a customer; undefined where the rows stand in another order altogether. */
  readonly laterOrder: readonly number[] | undefined
}

/** The pages that a quick run read, and the list that was expected. */
export type QuickEvidence = {
  readonly cuts: readonly Cut[]
  readonly comparison: Comparison
  readonly expected: ExpectedOrder
  readonly isEndKnown: boolean
  readonly size: number
  readonly pending: readonly number[]
  /** Whether the rows read stand in an order that no change of a customer alters. */
  readonly orderStays: boolean
}

/**
 * A row is gone from its place where one answer shows both neighbours and not the row. It may have moved, to a part that was not
 * read: only where the counts explain every such part, it has left the list. That holds in an order that no change of a customer alters too:
 * the order expected may be wrong at one row, where the list changed while it was read. Where more records than before may be any
 * customer's, the row may be one of these: the next full run decides.
 */
export function conclude({ cuts, comparison, expected, ...evidence }: QuickEvidence): Conclusion {
  const { kept, gaps } = comparison
  const read = new Set(cuts.flatMap(({ rowIds }) => rowIds))
  const left = new Set(gaps.filter(({ isOneCut }) => isOneCut).flatMap((gap) => leftFrom(gap, expected)))
  const missed = [...new Set([...left, ...evidence.pending])].filter((rowId) => !read.has(rowId))
  const areExplained = gaps.every((gap) => gap.holes.length === 0 || isExplained(gap))
  const isWhole = evidence.isEndKnown && areExplained && !isAnyMetTwice(cuts)
  const trusted = gaps.filter(isExplained).reduce((sum, { unread }) => sum + unread, 0)
  const known = rowsIn(cuts.flatMap(({ blocks }) => blocks))
  const hasOrder = known <= MOST_MOVED * rowsIn(kept)
  return {
    gone: isWhole ? missed : [],
    pending: isWhole ? [] : missed,
    certain: isWhole && evidence.orderStays ? missed.filter((rowId) => left.has(rowId)) : [],
    isAnyUnmet: unmetBetween(gaps, expected).some((rowId) => !read.has(rowId)),
    trustedPages: Math.round(trusted / evidence.size),
    laterOrder: hasOrder ? foundOrder({ cuts, gaps, expected }) : undefined,
  }
}

/** In a list without an order some rows always stand as expected. With so many known rows to each of these, the list has another order. */
const MOST_MOVED = 5

/**
 * Whether a row stands in two parts of the list that share no position. Then the counts explain nothing: one row was met twice, so another
 * listed row was not met at all.
 */
function isAnyMetTwice(cuts: readonly Cut[]): boolean {
  const metIn = new Map<number, Cut>()
  for (const cut of cuts) {
    for (const rowId of cut.rowIds) {
      const other = rowId === 0 ? undefined : metIn.get(rowId)
      if (other !== undefined && (other.reach <= cut.start || cut.reach <= other.start)) return true
      metIn.set(rowId, cut)
    }
  }
  return false
}

/** The rows that one answer shows to be gone from their places; none where a record there may be one of them. */
function leftFrom({ unseen, nameless }: Gap, expected: ExpectedOrder): number[] {
  const rowIds = rowsAt(unseen, expected)
  const left = rowIds.filter((rowId) => rowId !== 0)
  return nameless > rowIds.length - left.length ? [] : left
}

/** The rows expected where all positions were read, in more than one answer. */
function unmetBetween(gaps: readonly Gap[], expected: ExpectedOrder): number[] {
  const between = gaps.filter(({ isOneCut, holes }) => !isOneCut && holes.length === 0)
  return between.flatMap(({ unseen }) => rowsAt(unseen, expected)).filter((rowId) => rowId !== 0)
}

function rowsAt(spans: readonly Span[], { rowIds }: ExpectedOrder): number[] {
  return spans.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => rowIds[from + index] ?? 0))
}

function rowsIn(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { length }) => sum + length, 0)
}
