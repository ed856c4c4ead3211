import type { Row } from '../model/customer.ts'
import { keyOf, type ReadWindow, type Span } from '../scan/window.ts'

export type ExpectedOrder = {
  /** The row number of each record; 0 where a record without a customer is expected. */
  readonly rowIds: ArrayLike<number>
  /** The place of a row number among them; -1 where it is not expected. */
  placeOf(rowId: number): number
}

/** The unbroken part of the list that one answer shows. */
export type Cut = {
  /** The positions of its rows: `[start, reach)`; and the row number of each, 0 of a record without a customer. */
  readonly start: number
  readonly reach: number
  readonly rowIds: readonly number[]
  /** The positions of records that may belong to any customer: without a readable id, or with one that stands further up on the page. */
  readonly nameless: readonly number[]
  readonly isEnd: boolean
  /** Its first and its last row, if any. */
  readonly ends: ReadWindow['ends']
  readonly blocks: readonly Block[]
}

/** Rows of a cut that follow one another as expected, records without a customer too: `length` of them, from `at` on, expected from `place` on. */
type Block = {
  readonly cut: Pick<Cut, 'start' | 'reach'>
  readonly at: number
  readonly place: number
  length: number
}

/** What an answer shows of the list, as far as its rows are expected. A full page at a total below what was there is no end: services stop counting. */
export function cutFrom(read: ReadWindow, rows: readonly Row[], expected: ExpectedOrder): Cut {
  const { start, reach, total, window, ends } = read
  const isShort = rows.length < window.size
  const isEnd = total === undefined ? isShort : total === reach && (isShort || total >= expected.rowIds.length)
  const keys = rows.map(keyOf)
  const nameless = [...keys.keys()].filter((at) => keys[at] === undefined || keys.indexOf(keys[at]) < at)
  // Forgotten customers and rejects have no row.
  const rowIds = rows.map(({ rowId = 0 }, at) => (nameless.includes(at) ? 0 : Math.max(0, rowId)))
  const positions = nameless.map((at) => start + at)
  const blocks = blocksOf(rowIds, { start, reach }, expected)
  return { start, reach, rowIds, nameless: positions, isEnd, ends, blocks }
}

function blocksOf(rowIds: readonly number[], cut: Block['cut'], expected: ExpectedOrder): Block[] {
  const blocks: Block[] = []
  const isNone = (at: number, place: number) => rowIds[at] === 0 && expected.rowIds[place] === 0
  for (const [at, rowId] of rowIds.entries()) {
    const last = blocks.at(-1)
    const [end, next] = last === undefined ? [0, -1] : [last.at + last.length, last.place + last.length]
    const place = rowId === 0 ? -1 : expected.placeOf(rowId)
    if (last !== undefined && at === end && (place === next || isNone(at, next))) last.length += 1
    else if (place >= 0) {
      let length = 1
      while (at - length >= end && isNone(at - length, place - length)) length += 1
      blocks.push({ cut, at: at + 1 - length, place: place + 1 - length, length })
    }
  }
  return blocks
}

/** What stands between two customers that were found in the expected order: none of the others between them was. */
export type Gap = {
  /** The places that are expected between the two and that stand nowhere else, and how many these are. */
  readonly places: readonly Span[]
  readonly expected: number
  /** The positions between the two that were not read, and how many these are. */
  readonly holes: readonly Span[]
  readonly unread: number
  /** Whether one answer shows both, and all that stands between them: then the rows expected there have left. */
  readonly isOneCut: boolean
  /** How many such records were read between the two. */
  readonly nameless: number
  /** The position at which the part after the gap begins. */
  readonly seam: number
}

/** As many positions are unread as customers are expected there: each is trusted to hold one of them. */
export function isExplained({ expected, unread }: Gap): boolean {
  return expected === unread
}

export type Comparison = {
  /** How many rows stand in the expected order, and how many expected ones were read. */
  readonly kept: number
  readonly known: number
  readonly gaps: readonly Gap[]
  /** Whether other customers stand between two that kept their places on one page: customers come, or move, in the middle of the list. */
  readonly stirs: boolean
}

/** Compares the list as found, of the length `end`, with that as expected. The cuts are in the order of their positions. */
export function compare(cuts: readonly Cut[], { end, expected }: { end: number; expected: number }): Comparison {
  const blocks = cuts.flatMap((cut) => cut.blocks)
  const kept = new Set(keptBlocks(blocks))
  const moved = placesOf(blocks.filter((block) => !kept.has(block)))
  const holes = holesBetween(cuts, end)
  const nameless = [...new Set(cuts.flatMap((cut) => cut.nameless))]
  const gaps: Gap[] = []
  const begun = new Set<Block['cut']>()
  let [after, reach, begin] = [0, 0, 0]
  const close = (until: number, to: number, { seam, isOneCut }: Pick<Gap, 'seam' | 'isOneCut'>) => {
    const places = without(moved, { from: after, to: until })
    const between = holes.filter(({ from }) => from >= begin && from < seam)
    begin = seam
    gaps.push({
      ...{ places, expected: lengthOf(places), holes: between, unread: lengthOf(between), isOneCut, seam },
      nameless: nameless.filter((position) => position >= reach && position < to).length,
    })
  }
  for (const { cut, at, place, length } of kept) {
    close(place, cut.start + at, { seam: cut.start, isOneCut: begun.has(cut) || cut.start === 0 })
    begun.add(cut)
    reach = cut.start + at + length
    after = Math.max(after, place + length)
  }
  const isLast = (cut: Cut) => cut.isEnd && (cut.start === 0 || cut.blocks.some((block) => kept.has(block)))
  close(expected, Infinity, { seam: Infinity, isOneCut: cuts.some(isLast) })
  const stirs = cuts.some((cut) => {
    const stayed = cut.blocks.filter((block) => kept.has(block))
    return stayed.some(({ at, length }, next) => cut.rowIds.slice(at + length, stayed[next + 1]?.at ?? 0).some(Boolean))
  })
  return { kept: rowsIn([...kept]), known: rowsIn(blocks), gaps, stirs }
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0)
}

function rowsIn(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { length }) => sum + length, 0)
}

/** The positions before `end` that no cut shows, in order. */
function holesBetween(cuts: readonly Cut[], end: number): Span[] {
  const holes: Span[] = []
  let reach = 0
  for (const { start, reach: next } of [...cuts, { start: Infinity, reach: Infinity }]) {
    if (start > reach && reach < end) holes.push({ from: reach, to: Math.min(end, start) })
    reach = Math.max(reach, next)
  }
  return holes
}

function placesOf(blocks: readonly Block[]): number[] {
  const places = blocks.flatMap(({ place, length }) => Array.from({ length }, (_, index) => place + index))
  return places.toSorted((one, other) => one - other)
}

/** The parts of a span that hold none of these places, which are in order. */
function without(places: readonly number[], { from, to }: Span): Span[] {
  const parts: Span[] = []
  let start = from
  for (const place of [...places.filter((each) => each >= from && each < to), to]) {
    if (place > start) parts.push({ from: start, to: place })
    start = place + 1
  }
  return parts
}

/** A block with the most rows that can stand before it. */
type Link = { readonly block: Block; readonly before: Link | undefined; readonly rows: number }

/** The blocks with the most rows that follow one another both in the list, as they are given, and in the expected order; all others have moved. */
function keptBlocks(blocks: readonly Block[]): Block[] {
  // In the order of their places, and of their rows: a link with fewer rows behind one with more is of no use.
  const frontier: Link[] = []
  for (const block of blocks) {
    const at = frontier.findLastIndex((link) => link.block.place < block.place) + 1
    const there = frontier[at]?.block.place === block.place ? frontier[at] : undefined
    const before = there !== undefined && there.block.cut.reach > block.cut.start ? there : frontier[at - 1]
    const link = { block, before, rows: (before?.rows ?? 0) + block.length }
    if (there !== undefined && there.rows >= link.rows) continue
    let end = at
    while ((frontier[end]?.rows ?? Infinity) <= link.rows) end += 1
    frontier.splice(at, end - at, link)
  }
  const kept: Block[] = []
  for (let link = frontier.at(-1); link !== undefined; link = link.before) kept.push(link.block)
  return kept.toReversed()
}

/** What the pages read show. */
export type Conclusion = Readonly<ReturnType<typeof conclude>>

/** What else is known: rows that an earlier run missed, and whether the rows read stand in an order that no change alters. `isBefore`: by that. */
type Known = {
  readonly size: number
  readonly isEndKnown: boolean
  readonly orderStays: boolean
  readonly isBefore: (one: Row, other: Row) => boolean
  readonly pending: readonly number[]
}

/** In a list without an order some rows always stand as expected. With so many known rows to each of these, the list has another order. */
const MOST_MOVED = 5

/**
 * A row is gone from its place where one answer shows both neighbours and not the row. It may have moved to a part that was not read: only where
 * the counts explain every such part, it has left the list. They may agree by chance, and the order expected may be wrong where the list changed
 * while it was read. So that is certain only where one answer shows rows before it and behind it, in an order that no change alters.
 */
export function conclude(
  cuts: readonly Cut[],
  { kept, known, gaps }: Comparison,
  expected: ExpectedOrder,
  { size, isEndKnown, orderStays, isBefore, pending }: Known,
) {
  const read = new Set(cuts.flatMap(({ rowIds }) => rowIds))
  const left = new Set(gaps.flatMap((gap) => (gap.isOneCut ? leftFrom(gap, expected) : [])))
  const missed = [...new Set([...left, ...pending])].filter((rowId) => !read.has(rowId))
  // Those at the end may be pushed behind a total that stops counting: they are listed all the same, and only searches tell.
  const hasCome = read.values().some((rowId) => expected.placeOf(rowId) < 0)
  const isAbsentFrom = (row: Row, { start, isEnd, ends, nameless }: Cut) => {
    const isBehind = start === 0 || (ends !== undefined && isBefore(ends[0], row))
    const isAhead = (isEnd && !hasCome) || (ends !== undefined && isBefore(row, ends[1]))
    return isBehind && isAhead && nameless.length === 0
  }
  const areExplained = gaps.every((gap) => gap.holes.length === 0 || isExplained(gap))
  const isWhole = isEndKnown && areExplained && !isAnyMetTwice(cuts)
  // The rows expected where all positions were read, in more than one answer.
  const unmet = gaps.flatMap((gap) => (gap.isOneCut || gap.holes.length > 0 ? [] : rowsAt(gap.places, expected)))
  const trusted = gaps.filter(isExplained).reduce((sum, { unread }) => sum + unread, 0)
  return {
    /** Rows that left their places, and that stand nowhere in the list as far as it was read or is trusted. */
    gone: isWhole ? missed : [],
    /** Rows that left their places, while parts of the list are unknown to which they may have moved. */
    pending: isWhole ? [] : missed,
    /** Whether one of the rows gone needs no search: it would stand in an answer that does not show it. */
    isCertain: (row: Row) => orderStays && cuts.some((cut) => isAbsentFrom(row, cut)),
    /** Whether rows are expected between two pages, or behind the last one that has a row as expected, and no page shows them. */
    isAnyUnmet: unmet.some((rowId) => rowId !== 0),
    /** Pages that were not read, and that are trusted to hold the rows expected there. */
    trustedPages: Math.round(trusted / size),
    /** The row numbers in list order, 0 for a record without a customer; undefined where the rows stand in another order altogether. */
    laterOrder: known <= MOST_MOVED * kept ? foundOrder(cuts, gaps, expected) : undefined,
  }
}

/** Whether a row stands in two parts that share no position. Then the counts explain nothing: another listed row was not met at all. */
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

/** The rows that one answer shows to be gone from their places; none where a nameless record there may be one of them. */
function leftFrom({ places, nameless }: Gap, expected: ExpectedOrder): number[] {
  const rowIds = rowsAt(places, expected)
  const left = rowIds.filter((rowId) => rowId !== 0)
  return nameless > rowIds.length - left.length ? [] : left
}

function rowsAt(spans: readonly Span[], { rowIds }: ExpectedOrder): number[] {
  return spans.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => rowIds[from + index] ?? 0))
}

/** The list as it stands now: the rows that were read at their positions, and between them those expected there, without those that left. */
function foundOrder(cuts: readonly Cut[], gaps: readonly Gap[], expected: ExpectedOrder): number[] {
  const expectedThere = gaps.flatMap(({ places, holes, isOneCut, seam }) => {
    const rest = isOneCut ? [] : rowsAt(places, expected)
    const fill = ({ from, to }: Span) => ({ from, rowIds: rest.splice(0, to - from), isRead: false })
    return [...holes.slice(0, -1).map(fill), { from: holes.at(-1)?.from ?? seam, rowIds: rest, isRead: false }]
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
