import type { ReadWindow } from './read-window.ts'
import type { PassFailure } from './pass.ts'
import { endOf, isSame, type Window } from './window.ts'

/** A window of a pass on its way: planned, asked for, then read or failed. */
export type PendingWindow = {
  readonly window: Window
  asked: boolean
  read?: ReadWindow | undefined
  failure?: PassFailure | undefined
  /** Asked for to repair the overlap before it, and dropped when it does not. */
  readonly bridge: boolean
}

export function askAgain(pending: PendingWindow): void {
  pending.read = undefined
  pending.failure = undefined
  pending.asked = false
}

/**
 * The most windows a pass plans, or holds, ahead of the one it waits for: its memory, whatever the list's length. Room for
 * those that wait to be saved together, and for those under way.
 */
const LOOK_AHEAD = 128

/** The windows to one side of a chain, nearest first; no window stands in it twice. */
export class PendingWindows {
  #pending: PendingWindow[] = []
  #end = 0

  constructor(windows: readonly Window[] = []) {
    for (const window of windows) this.add(window)
  }

  get nearest(): PendingWindow | undefined {
    return this.#pending[0]
  }

  get empty(): boolean {
    return this.#pending.length === 0
  }

  get full(): boolean {
    return this.#pending.length >= LOOK_AHEAD
  }

  get all(): readonly PendingWindow[] {
    return this.#pending
  }

  /** The position after the furthest of them; 0 when there is none. */
  get end(): number {
    return this.#end
  }

  /** The pending that has no answer yet for this window. */
  waitingFor(window: Window): PendingWindow | undefined {
    return this.#pending.find(
      (pending) => isSame(pending.window, window) && pending.read === undefined && pending.failure === undefined,
    )
  }

  /** The pending that waits for this window, or a new one; undefined where there is no room for it. */
  placeFor(window: Window): PendingWindow | undefined {
    return this.waitingFor(window) ?? (this.full ? undefined : this.add(window))
  }

  notAsked(): PendingWindow | undefined {
    return this.#pending.find((pending) => !pending.asked)
  }

  add(window: Window): PendingWindow {
    const pending: PendingWindow = { window, asked: false, bridge: false }
    this.#pending.push(pending)
    this.#end = Math.max(this.#end, endOf(window))
    return pending
  }

  /** Puts a window before all others; should it stand among them, it is asked for anew. */
  addBridge(window: Window): void {
    const others = this.#pending.filter((pending) => !isSame(pending.window, window))
    this.#pending = [{ window, asked: false, bridge: true }, ...others]
    this.#end = furthest(this.#pending)
  }

  /** Puts a window before all others, in the place of one that did not help. */
  replace(pending: PendingWindow, window: Window): void {
    this.remove(pending)
    this.addBridge(window)
  }

  remove(pending: PendingWindow): void {
    const place = this.#pending.indexOf(pending)
    if (place < 0) return
    this.#pending.splice(place, 1)
    if (endOf(pending.window) === this.#end) this.#end = furthest(this.#pending)
  }

  /** Removes those that reach no further than a position. */
  removeUpTo(end: number): void {
    if (this.#pending.every(({ window }) => endOf(window) > end)) return
    this.#pending = this.#pending.filter(({ window }) => endOf(window) > end)
    this.#end = furthest(this.#pending)
  }
}

function furthest(pending: readonly PendingWindow[]): number {
  let end = 0
  for (const { window } of pending) end = Math.max(end, endOf(window))
  return end
}
