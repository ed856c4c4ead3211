import type { ReadWindow } from './window.ts'

export type Seam = Readonly<ReturnType<typeof seamBetween>>

/** Compares two windows; `left` lies before `right`, whichever was read first. */
export function seamBetween(left: ReadWindow, right: ReadWindow) {
  const shared: { inLeft: number; inRight: number; shift: number }[] = []
  for (const [inRight, key] of right.keys.entries()) {
    const inLeft = left.places.get(key)
    if (inLeft !== undefined) shared.push({ inLeft, inRight, shift: right.start + inRight - left.start - inLeft })
  }
  const isLater = right.turn > left.turn
  const grown = (right.total ?? 0) - (left.total ?? 0)
  const isSameTotal = left.total !== undefined && left.total === right.total
  const reordered = shared.some(({ inLeft }, index) => inLeft < (shared[index - 1]?.inLeft ?? -1))
  const shift = shared.reduce((far, row) => Math.max(far, Math.abs(row.shift)), 0)
  // Rows deleted above them lift the shared rows by as many as the total has shrunk.
  const risen = shared.reduce((most, row) => Math.max(most, isLater ? -row.shift : row.shift), 0)
  const shrunk = Math.max(0, isLater ? -grown : grown)
  const displaced = (isSameTotal ? shift : risen - shrunk) >= left.window.size / 2
  const overlap = Math.min(left.reach, right.reach) - Math.max(left.start, right.start)
  const isInOrder = shared.length >= 2 && !reordered && !displaced
  return {
    /** How many rows are in both, and whether they stand in another order. */
    shared: shared.length,
    reordered,
    /** The same rows at the same positions where the windows overlap, and the same total. */
    still: isSameTotal && shift === 0 && shared.length > 0 && shared.length === overlap,
    /** Two shared rows or more, all in the same order, most of those where the windows overlap, and none half a window from where it stood. */
    firm: right.start === 0 || (isInOrder && 2 * shared.length >= spreadOf(shared, left, right)),
    /** By how many places all shared rows have shifted, more than the total has changed. */
    unexplained: shared.length === 0 ? 0 : Math.min(...shared.map((row) => Math.abs(row.shift))) - Math.abs(grown),
    /** By how many rows the list was seen to change, at most. */
    changes: shift + Math.abs(grown),
  }
}

/** The rows of the part in which two windows overlap: all of them are shared where nothing moved. Those given stand in the order of both. */
function spreadOf(shared: readonly { inLeft: number; inRight: number }[], left: ReadWindow, right: ReadWindow): number {
  const [first, last] = [shared[0], shared.at(-1)]
  if (first === undefined || last === undefined) return 0
  const between = Math.max(last.inLeft - first.inLeft, last.inRight - first.inRight) + 1
  const behind = Math.min(right.keys.length - 1 - last.inRight, left.keys.length - 1 - last.inLeft)
  return Math.min(first.inRight, first.inLeft) + between + behind
}

/** The same rows under other positions: one of the two answers belongs to another window. */
export function repeats(left: ReadWindow, right: ReadWindow): boolean {
  const compared = Math.min(left.keys.length, right.keys.length)
  if (left.start === right.start || left.total !== right.total || compared < 2) return false
  return left.keys.slice(0, compared).every((key, place) => key === right.keys[place])
}
