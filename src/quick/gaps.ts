import { byPosition, type Block, type Cut } from './cut.ts'

/** Positions `[from, to)`. */
export type Span = { readonly from: number; readonly to: number }

/**
 * What stands between two customers that were found in the expected order, with none of the others between them found. It is
 * explained when as many positions are unread as customers are expected there: then each is trusted to hold one of them.
 */
export type Gap = {
  /** The places that are expected between the two and that stand nowhere else. */
  readonly unseen: readonly Span[]
  /** How many these are. */
  readonly expected: number
  /** The positions between the two that were not read, and how many these are. */
  readonly holes: readonly Span[]
  readonly unread: number
  /** Unread positions beside an unexpected row: more such rows may stand there, in place of expected ones. */
  readonly doubtful: readonly Span[]
  /** Whether one answer shows both, and all that stands between them: then the rows expected there have left. */
  readonly isOneCut: boolean
  /** How many records that may be any customer's were read between the two. */
  readonly nameless: number
  /** The position at which the part after the gap begins. */
  readonly seam: number
}

/** The list as found, compared with the list as expected. */
export type Comparison = {
  /** The rows that kept their places: those that stand in the expected order. */
  readonly kept: readonly Block[]
  readonly gaps: readonly Gap[]
  /** Whether other customers stand between two of these on one page: customers come, or move, in the middle of the list. */
  readonly stirs: boolean
}

/** `end`: the length of the list; `expected`: the number of records expected. */
export function compare(cuts: readonly Cut[], { end, expected }: { end: number; expected: number }): Comparison {
  const sorted = cuts.toSorted(byPosition)
  const blocks = sorted.flatMap((cut) => cut.blocks)
  const kept = keptBlocks(blocks)
  const keptSet = new Set(kept)
  const moved = placesOf(blocks.filter((block) => !keptSet.has(block)))
  const holes = holesBetween(sorted, end)
  const gaps: Gap[] = []
  const doubt = doubtsOf(kept, end)
  const begun = new Set<Block['cut']>()
  const nameless = [...new Set(sorted.flatMap((cut) => cut.nameless))]
  let after = -1
  let reach = 0
  const close = (
    until: number,
    { at = Infinity, seam, isOneCut }: { at?: number; seam: number; isOneCut: boolean },
  ) => {
    const between: Span[] = []
    while (holes[0] !== undefined && holes[0].from < seam) between.push(...holes.splice(0, 1))
    const unseen = without(moved, { from: after + 1, to: until })
    if (unseen.length + between.length > 0) {
      gaps.push({
        ...{ unseen, expected: lengthOf(unseen), holes: between, unread: lengthOf(between) },
        ...{ doubtful: between.flatMap(doubt), isOneCut, seam },
        nameless: nameless.filter((position) => position >= reach && position < at).length,
      })
    }
  }
  for (const { cut, at, place, length } of kept) {
    close(place, { at: cut.start + at, seam: cut.start, isOneCut: begun.has(cut) || cut.start === 0 })
    begun.add(cut)
    reach = cut.start + at + length
    after = Math.max(after, place + length - 1)
  }
  const isLast = (cut: Cut) => cut.isEnd && (cut.start === 0 || cut.blocks.some((block) => keptSet.has(block)))
  close(expected, { seam: Infinity, isOneCut: sorted.some(isLast) })
  return { kept, gaps, stirs: sorted.some((cut) => stirs(cut, keptSet)) }
}

/** The first or last position of a hole beside which no row stands that kept its place. */
function doubtsOf(kept: readonly Block[], end: number): (hole: Span) => Span[] {
  const starts = new Set(kept.map(({ cut, at }) => cut.start + at)).add(end)
  const ends = new Set(kept.map(({ cut, at, length }) => cut.start + at + length)).add(0)
  return ({ from, to }) => [
    ...(starts.has(to) ? [] : [{ from: to - 1, to }]),
    ...(ends.has(from) ? [] : [{ from, to: from + 1 }]),
  ]
}

function stirs({ rowIds, blocks }: Cut, keptSet: ReadonlySet<Block>): boolean {
  const kept = blocks.filter((block) => keptSet.has(block))
  return kept.some(({ at, length }, index) => {
    const next = kept[index + 1]
    return next !== undefined && rowIds.slice(at + length, next.at).some((rowId) => rowId !== 0)
  })
}

/** Whether the unread positions of the gap can hold just the customers expected there. */
export function isExplained({ expected, unread }: Gap): boolean {
  return expected === unread
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** The positions before `end` that no cut shows, in order. */
function holesBetween(sorted: readonly Pick<Cut, 'start' | 'reach'>[], end: number): Span[] {
  const holes: Span[] = []
  let reach = 0
  for (const cut of sorted) {
    if (cut.start > reach && reach < end) holes.push({ from: reach, to: Math.min(end, cut.start) })
    reach = Math.max(reach, cut.reach)
  }
  if (reach < end) holes.push({ from: reach, to: end })
  return holes
}

/** The places of blocks, in order, each once. */
function placesOf(blocks: readonly Block[]): number[] {
  const places = new Set(blocks.flatMap(({ place, length }) => Array.from({ length }, (_, index) => place + index)))
  return [...places].toSorted((one, other) => one - other)
}

/** The parts of a span that hold none of these places, which are in order. */
function without(places: readonly number[], { from, to }: Span): Span[] {
  const parts: Span[] = []
  let start = from
  for (let index = firstIndex(places.length, (at) => (places[at] ?? to) >= from); index < places.length; index += 1) {
    const place = places[index] ?? to
    if (place >= to) break
    if (place > start) parts.push({ from: start, to: place })
    start = place + 1
  }
  if (start < to) parts.push({ from: start, to })
  return parts
}

/** A block with the most rows that can stand before it. */
type Link = { readonly block: Block; readonly before: Link | undefined; readonly rows: number }

/**
 * The blocks with the most rows that follow one another both in the list and in the expected order; all other rows have moved. `blocks`
 * are given in the order of the list. Two may begin with the same row, where two cuts overlap.
 */
function keptBlocks(blocks: readonly Block[]): Block[] {
  // In the order of their places, and of their rows: a link with fewer rows behind one with more is of no use.
  const frontier: Link[] = []
  for (const block of blocks) {
    const at = firstIndex(frontier.length, (index) => (frontier[index]?.block.place ?? Infinity) >= block.place)
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

/**
 * Binary search: the first of `length` indexes for which `holds` is true, given that it is true for all later ones; `length` if it is true
 * for none.
 */
function firstIndex(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}
