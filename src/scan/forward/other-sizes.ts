import { windowBehind } from '../plan/planner.ts'
import type { PendingWindows } from '../plan/pending-windows.ts'
import { startOf, type Window } from '../window/window.ts'

/** Finds windows of another size: a cache that holds one size rarely holds another, and a smaller page is not too large. */
export class OtherSizes {
  #lastEnd = -1

  /**
   * The window to request at the end of a chain, `end`, sharing `shared` rows with it if possible. Undefined when there is none,
   * and when a cache answered for the second time there.
   */
  insteadOf({ size }: Window, why: 'cached-answer' | 'too-large', end: number, shared: number): Window | undefined {
    const isAgain = this.#lastEnd === end
    this.#lastEnd = end
    if (size === 1 || (isAgain && why === 'cached-answer')) return undefined
    return windowBehind(end, shared, why === 'too-large' ? Math.ceil(size / 2) : size - 1)
  }
}

/** Replaces a window that a cache answered by one of another size, once for each; false when there is none. */
export function askAgainOtherwise(pending: PendingWindows): boolean {
  const cached = pending.all.find(({ failure, bridge }) => failure === 'cached-answer' && !bridge)
  if (cached === undefined || cached.window.size === 1) return false
  pending.remove(cached)
  pending.addBridge(windowBehind(startOf(cached.window), 0, cached.window.size - 1))
  return true
}
