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

/** The most windows a pass plans, or holds, ahead of the one it waits for: its memory, whatever the list's length. */
const LOOK_AHEAD = 64

/** The windows to one side of a chain, nearest first; no window stands in it twice. */
export class Slots {
  #slots: Slot[] = []

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
    let end = 0
    for (const { window } of this.#slots) end = Math.max(end, endOf(window))
    return end
  }

  /** The slot that has no answer yet for this window. */
  waitingFor(window: Window): Slot | undefined {
    return this.#slots.find(
      (slot) => isSame(slot.window, window) && slot.held === undefined && slot.failure === undefined,
    )
  }

  notAsked(): Slot | undefined {
    return this.#slots.find((slot) => !slot.asked)
  }

  add(window: Window): Slot {
    const slot: Slot = { window, asked: false, bridge: false }
    this.#slots.push(slot)
    return slot
  }

  /** Puts a window before all others; should it stand among them, it is asked for anew. */
  addBridge(window: Window): void {
    const others = this.#slots.filter((slot) => !isSame(slot.window, window))
    this.#slots = [{ window, asked: false, bridge: true }, ...others]
  }

  remove(slot: Slot): void {
    this.#slots = this.#slots.filter((other) => other !== slot)
  }

  /** Removes those that reach no further than a position. */
  removeUpTo(end: number): void {
    this.#slots = this.#slots.filter(({ window }) => endOf(window) > end)
  }
}
