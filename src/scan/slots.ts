import type { Held } from './held.ts'
import type { PassFailure } from './pass.ts'
import { endOf, isSame, type Window } from './window.ts'

/** A window of a pass on its way: planned, asked for, then read or failed. */
export type Slot = {
  readonly window: Window
  asked: boolean
  held?: Held | undefined
  failure?: PassFailure | undefined
  /** Asked for to mend the seam before it, and dropped when it does not. */
  readonly bridge: boolean
}

export function askAnew(slot: Slot): void {
  slot.held = undefined
  slot.failure = undefined
  slot.asked = false
}

/**
 * The most windows a pass plans, or holds, ahead of the one it waits for: its memory, whatever the list's length. Room for
 * those that wait to be saved together, and for those under way.
 */
const LOOK_AHEAD = 128

/** The windows to one side of a chain, nearest first; no window stands in it twice. */
export class Slots {
  #slots: Slot[] = []
  #end = 0

  constructor(windows: readonly Window[] = []) {
    for (const window of windows) this.add(window)
  }

  get nearest(): Slot | undefined {
    return this.#slots[0]
  }

  get empty(): boolean {
    return this.#slots.length === 0
  }

  get full(): boolean {
    return this.#slots.length >= LOOK_AHEAD
  }

  get all(): readonly Slot[] {
    return this.#slots
  }

  /** The position after the furthest of them; 0 when there is none. */
  get end(): number {
    return this.#end
  }

  /** The slot that has no answer yet for this window. */
  waitingFor(window: Window): Slot | undefined {
    return this.#slots.find(
      (slot) => isSame(slot.window, window) && slot.held === undefined && slot.failure === undefined,
    )
  }

  /** The slot that waits for this window, or a new one; undefined where there is no room for it. */
  placeFor(window: Window): Slot | undefined {
    return this.waitingFor(window) ?? (this.full ? undefined : this.add(window))
  }

  notAsked(): Slot | undefined {
    return this.#slots.find((slot) => !slot.asked)
  }

  add(window: Window): Slot {
    const slot: Slot = { window, asked: false, bridge: false }
    this.#slots.push(slot)
    this.#end = Math.max(this.#end, endOf(window))
    return slot
  }

  /** Puts a window before all others; should it stand among them, it is asked for anew. */
  addBridge(window: Window): void {
    const others = this.#slots.filter((slot) => !isSame(slot.window, window))
    this.#slots = [{ window, asked: false, bridge: true }, ...others]
    this.#end = furthest(this.#slots)
  }

  /** Puts a window before all others, in the place of one that did not help. */
  replace(slot: Slot, window: Window): void {
    this.remove(slot)
    this.addBridge(window)
  }

  remove(slot: Slot): void {
    const place = this.#slots.indexOf(slot)
    if (place < 0) return
    this.#slots.splice(place, 1)
    if (endOf(slot.window) === this.#end) this.#end = furthest(this.#slots)
  }

  /** Removes those that reach no further than a position. */
  removeUpTo(end: number): void {
    if (this.#slots.every(({ window }) => endOf(window) > end)) return
    this.#slots = this.#slots.filter(({ window }) => endOf(window) > end)
    this.#end = furthest(this.#slots)
  }
}

function furthest(slots: readonly Slot[]): number {
  let end = 0
  for (const { window } of slots) end = Math.max(end, endOf(window))
  return end
}
