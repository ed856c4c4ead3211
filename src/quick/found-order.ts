import { byPosition, type Cut, type ExpectedOrder } from './cut.ts'
import type { Gap, Span } from './gaps.ts'

type Found = {
  cuts: readonly Cut[]
  gaps: readonly Gap[]
  expected: ExpectedOrder
}

/**
 * The order of the list as it stands now: the rows that were read at their positions, and between them those expected there. Rows
 * that left a part read in one answer are not in it.
 */
export function foundOrder({ cuts, gaps, expected }: Found): number[] {
  const order: number[] = []
  const added = new Set<number>()
  const fills = fillsOf(gaps)
  const add = (rowId: number) => {
    if (rowId !== 0 && added.has(rowId)) return
    added.add(rowId)
    order.push(rowId)
  }
  const fillUntil = (until: number) => {
    for (const [position, spans] of fills) {
      if (position > until) continue
      for (const { from, to } of spans) for (let place = from; place < to; place += 1) add(expected.rowIds[place] ?? 0)
      fills.delete(position)
    }
  }
  let reach = 0
  for (const { start, rowIds } of cuts.toSorted(byPosition)) {
    fillUntil(start)
    // By index: a position beyond 2^53, as a wrong total gives it, does not grow by one.
    for (const [at, rowId] of rowIds.entries()) if (start + at >= reach) add(rowId)
    reach = Math.max(reach, start + rowIds.length)
  }
  fillUntil(Infinity)
  return order
}

/** The expected rows of the holes, by the position at which each hole begins; without a hole, by the position of the seam. */
function fillsOf(gaps: readonly Gap[]): Map<number, Span[]> {
  const fills = new Map<number, Span[]>()
  for (const { unseen, holes, isOneCut, seam } of gaps) {
    if (isOneCut) continue
    let rest = unseen
    for (const [index, { from, to }] of holes.entries()) {
      const [first, others] = split(rest, index === holes.length - 1 ? Infinity : to - from)
      fills.set(from, first)
      rest = others
    }
    if (holes.length === 0) fills.set(seam, [...(fills.get(seam) ?? []), ...rest])
  }
  return fills
}

/** The first so many places, and the others. */
function split(spans: readonly Span[], count: number): [Span[], Span[]] {
  const first: Span[] = []
  const others: Span[] = []
  let left = count
  for (const { from, to } of spans) {
    const middle = Math.min(to, from + left)
    if (middle > from) first.push({ from, to: middle })
    if (middle < to) others.push({ from: middle, to })
    left -= middle - from
  }
  return [first, others]
}
