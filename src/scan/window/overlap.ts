import { sortableInstant } from './created-at.ts'
import type { ReadWindow } from './read-window.ts'
import { compareRows, type Comparison } from './row-order.ts'
import { isPlaced, keyOf, rowOf, type RowOrNumber } from './window.ts'

/** How two neighbouring windows compare. */
export type Overlap = {
  /** Ids in both. */
  readonly shared: number
  /** Every shared position holds the same id in both, no id is shared elsewhere, and the total is the same. */
  readonly still: boolean
  /**
   * The rows of the part in which the windows overlap: from the first shared one to the last, whichever window has more of them there,
   * and on both sides those of the window that has fewer. At rest all of them are shared.
   */
  readonly spread: number
  /** By how many places a shared id stands nearer to the beginning than before, and nearer to the end, at most. */
  readonly pulled: number
  readonly pushed: number
  /** By how many rows the total is greater in the right one; 0 where it is unknown. */
  readonly grown: number
  /**
   * Shared ids stand half a window away from where they stood, although the total is the same; or they rose so far, and the total has
   * not become as much smaller: then it is they that moved.
   */
  readonly displaced: boolean
  /** Two shared ids stand in a different order. */
  readonly reordered: boolean
  /** A shared id carries different creation times. */
  readonly redated: boolean
  /** How the first row of the right one compares with the last of the left one; undefined where there is none. */
  readonly ends: Comparison | undefined
  /** The right window starts at position 0, so no row stands before it. */
  readonly atBeginning: boolean
}

/** Compares two windows; `left` lies before `right` in the chain, whichever was read first. */
export function overlapBetween(left: ReadWindow, right: ReadWindow): Overlap {
  let shared = 0
  let reordered = false
  let redated = false
  let pulled = 0
  let pushed = 0
  let previous = -1
  const places = sharedPlaces(left, right)
  for (const [inRight, inLeft] of places) {
    shared += 1
    reordered ||= inLeft < previous
    redated ||= isRedated(left.rows[inLeft], right.rows[inRight])
    const shift = right.start + inRight - left.start - inLeft
    pulled = Math.max(pulled, -shift)
    pushed = Math.max(pushed, shift)
    previous = inLeft
  }
  const grown = left.total === undefined || right.total === undefined ? 0 : right.total - left.total
  const [risen, shrunk] = right.turn > left.turn ? [pulled, -grown] : [pushed, grown]
  const unexplained = grown === 0 ? 0 : risen - Math.max(0, shrunk)
  const far = left.total === right.total ? Math.max(pulled, pushed) : unexplained
  const displaced = far >= left.window.size / 2
  const [last, first] = [left.rows.findLast(isPlaced), right.rows.find(isPlaced)]
  const ends = last === undefined || first === undefined ? undefined : compareRows(rowOf(first), rowOf(last))
  const atBeginning = right.start === 0
  const still = standsStill(left, right, shared)
  const spread = spreadOf(left, right, places)
  return { shared, spread, pulled, pushed, grown, displaced, still, reordered, redated, ends, atBeginning }
}

function spreadOf(left: ReadWindow, right: ReadWindow, shared: readonly (readonly [number, number])[]): number {
  const [first, last] = [shared[0], shared.at(-1)]
  if (first === undefined || last === undefined) return 0
  const between = Math.max(last[0] - first[0], last[1] - first[1]) + 1
  const after = Math.min(right.keys.length - 1 - last[0], left.keys.length - 1 - last[1])
  return Math.min(...first) + between + after
}

/** The rows that two neighbouring windows share, as far as they are stored; `left` and `right` are the turns of the windows. */
export type Seam = { readonly left: number; readonly right: number; readonly rowIds: readonly number[] }

export function seamBetween(left: ReadWindow, right: ReadWindow): Seam {
  const rowIds: number[] = []
  for (const [inRight] of sharedPlaces(left, right)) {
    const key = right.keys[inRight]
    if (typeof key === 'number' && key > 0) rowIds.push(key)
  }
  return { left: left.turn, right: right.turn, rowIds }
}

/**
 * The places of the shared rows, in the order of the right window. A row that the left window lists twice counts at its last
 * place.
 */
export function sharedPlaces(left: ReadWindow, right: ReadWindow): [inRight: number, inLeft: number][] {
  // A row in both windows was already seen when the later one was counted: both belong to one pass, and counting restarts only
  // between passes.
  const candidates = right.turn > left.turn ? right.again : right.keys.keys()
  const shared: [number, number][] = []
  for (const inRight of candidates) {
    const key = right.keys[inRight]
    const inLeft = key === undefined ? -1 : left.keys.lastIndexOf(key)
    if (inLeft >= 0) shared.push([inRight, inLeft])
  }
  return shared
}

/** A record that is stored unchanged both times has the same creation time, which may not be known here. */
function isRedated(one: RowOrNumber | undefined, other: RowOrNumber | undefined): boolean {
  if (one === undefined || other === undefined) return false
  const [before, after] = [rowOf(one), rowOf(other)]
  if (before.isKept === true && after.isKept === true) return false
  return sortableInstant(before.createdAt) !== sortableInstant(after.createdAt)
}

function standsStill(left: ReadWindow, right: ReadWindow, shared: number): boolean {
  if (shared === 0 || left.total === undefined || left.total !== right.total) return false
  const from = Math.max(left.start, right.start)
  const to = Math.min(left.reach, right.reach)
  let readable = 0
  for (let position = from; position < to; position++) {
    const key = keyOf(left.all[position - left.start])
    if (key !== keyOf(right.all[position - right.start])) return false
    if (key !== undefined) readable += 1
  }
  return readable === shared
}

/**
 * The same rows at different positions: one of the two answers most likely belongs to another window. Rows without a readable id
 * look alike without being the same.
 */
export function repeats(left: Placed, right: Placed): boolean {
  const compared = Math.min(left.all.length, right.all.length)
  if (left.start === right.start || left.total !== right.total || compared < 2) return false
  let readable = 0
  for (let place = 0; place < compared; place += 1) {
    const key = keyOf(left.all[place])
    if (key !== keyOf(right.all[place])) return false
    if (key !== undefined) readable += 1
  }
  return readable > 0
}

/** The rows of a window and where they stand. */
type Placed = Pick<ReadWindow, 'start' | 'total' | 'all'>
