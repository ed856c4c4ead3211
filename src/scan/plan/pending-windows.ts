import type { ReadWindow } from '../window/read-window.ts'
import type { PassFailure } from '../pass.ts'
import { endOf, isSame, type Window } from '../window/window.ts'

/** A window of a pass: planned, then requested, then read or failed. */
export type PendingWindow = {
  readonly window: Window
  asked: boolean
  read?: ReadWindow | undefined
  failure?: PassFailure | undefined
  /** Requested to repair the overlap before it, and dropped if it does not. */
  readonly bridge: boolean
}

export function askAgain(pending: PendingWindow): void {
  pending.read = undefined
  pending.failure = undefined
  pending.asked = false
}

/**
 * The most windows a pass keeps ahead of the one it waits for. This bounds its memory, whatever the list's length. It covers the
 * windows that wait to be saved together and those under way.
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

  /** The position after the last of them; 0 when there is none. */
  get end(): number {
    return this.#end
  }

  /** The entry for this window that has no answer yet. */
  waitingFor(window: Window): PendingWindow | undefined {
    return this.#pending.find(
      (pending) => isSame(pending.window, window) && pending.read === undefined && pending.failure === undefined,
    )
  }

  /** The entry that waits for this window, or a new one; undefined when there is no room. */
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

  /** Puts a window before all others; if it is already among them, it is requested again. */
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

  /** Removes the windows that end at or before a position. */
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
