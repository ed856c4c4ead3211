/** A pause between two answers begins another stretch if it is longer than this, and this many times as long as an answer usually took. */
export const LONG_PAUSE_MS = 60_000
export const UNUSUAL = 10

/** Numbers the stretches of time in which a run reads its list, from 1: in a long pause, a few changes of the list may cancel out unseen. */
export class Stretches {
  readonly #monotonicMs: () => number
  readonly #beganMs: number
  #lastMs: number
  #arrivals = 0
  #number = 1

  /** Reading begins now. */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
    this.#beganMs = monotonicMs()
    this.#lastMs = this.#beganMs
  }

  /** The number of the stretch to which pages belong that arrive now. */
  arrived(): number {
    const nowMs = this.#monotonicMs()
    const usualMs = (this.#lastMs - this.#beganMs) / Math.max(1, this.#arrivals)
    if (nowMs - this.#lastMs > Math.max(LONG_PAUSE_MS, UNUSUAL * usualMs)) this.#number += 1
    this.#lastMs = nowMs
    this.#arrivals += 1
    return this.#number
  }
}
