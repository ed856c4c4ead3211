import { sharedPlaces } from '../window/overlap.ts'
import type { ReadWindow } from '../window/read-window.ts'

/** How a window compares with the one below it, in a list whose rows only move to the top. */
export type UpwardSeam = {
  /** Rows in both, in the same order in both, at the end of the upper window. */
  readonly kept: number
  /** The place of the first of them in the upper window. */
  readonly firstKept: number
  /** Other rows are in both: they stand above the shared rows, and stood elsewhere among them in the lower window. */
  readonly moved: number
  /** The most rows that stand among those in one of the windows, and not in the other. */
  readonly strange: number
  /** No row can stand between the two: the last row of the upper window is in the lower one. */
  readonly meets: boolean
  /** How far a row that kept its place was pushed towards the end, from the lower window to the upper one. */
  readonly shift: number
}

/** Fewer rows may be in the same order by chance where two windows meet, and anywhere. */
const ENOUGH_KEPT = 2
const CERTAIN_KEPT = 8
const NOTHING_SHARED: UpwardSeam = { kept: 0, firstKept: 0, moved: 0, strange: 0, meets: false, shift: 0 }

/** Compares a window with the one below it, whichever was read first. */
export function upwardSeamBetween(upper: ReadWindow, lower: ReadWindow): UpwardSeam {
  const shared = sharedPlaces(lower, upper).map(([inUpper, inLower]) => ({ inUpper, inLower }))
  const last = shared.at(-1)
  if (last === undefined) return NOTHING_SHARED
  let [kept, first] = [1, last]
  for (let before = shared.at(-2); before !== undefined; before = shared.at(-kept - 1)) {
    if (before.inLower >= first.inLower) break
    ;[kept, first] = [kept + 1, before]
  }
  // Rows at the beginning of the lower window are in the upper one too, if that begins further up.
  const from = first.inUpper > 0 ? 0 : first.inLower
  const strange = Math.max(last.inUpper - first.inUpper, last.inLower - from) + 1 - kept
  const meets = last.inUpper === upper.keys.length - 1 || last.inLower === lower.keys.length - 1
  const shift = upper.start + last.inUpper - lower.start - last.inLower
  return { kept, firstKept: first.inUpper, moved: shared.length - kept, strange, meets, shift }
}

/**
 * Whether two windows share rows that kept their order, enough to rule out chance: two where the windows meet, with few unshared rows
 * among them, or several anywhere. `mayMove`: both windows are the top, read a second time, so other rows may have gone up meanwhile and
 * stand above the shared ones.
 */
export function isLinked(seam: UpwardSeam, { mayMove }: { mayMove: boolean }): boolean {
  const { kept, moved, strange, meets } = seam
  if (moved > 0 && (!mayMove || moved >= kept)) return false
  return kept >= CERTAIN_KEPT || (meets && kept >= ENOUGH_KEPT && strange <= kept / 2)
}
