import { windowAdjoining, windowAfter } from './planner.ts'
import type { Slots } from './slots.ts'
import { startOf, type Window } from './window.ts'

/** Finds windows of another size for those that came out of a cache: one that holds this window seldom holds the other. */
export class OtherSizes {
  #lastEnd = -1

  /** The window to ask for where a chain ends at `end`, sharing at best `shared` rows; undefined the second time there. */
  insteadOf({ size }: Window, end: number, shared: number): Window | undefined {
    if (this.#lastEnd === end || size === 1) return undefined
    this.#lastEnd = end
    return windowInOtherSize(end, shared, size)
  }
}

/** Puts a window of another size in the place of one that came out of a cache, once for each; false when there is none. */
export function askAgainOtherwise(slots: Slots): boolean {
  const cached = slots.all.find(({ failure, bridge }) => failure === 'cached-answer' && !bridge)
  if (cached === undefined || cached.window.size === 1) return false
  slots.remove(cached)
  slots.addBridge(windowInOtherSize(startOf(cached.window), 0, cached.window.size))
  return true
}

function windowInOtherSize(end: number, shared: number, size: number): Window {
  const window = shared === 0 ? undefined : windowAfter(end, shared, size - 1)
  return window ?? windowAdjoining(end, size - 1)
}
