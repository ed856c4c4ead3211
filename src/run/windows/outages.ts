/**
 * Windows that may fail one after another before the service is taken to be down, whatever it says of each. Bisecting a page
 * down to one poison row in a corner of it takes five.
 */
const MOST_FAILURES_IN_A_ROW = 12
const MOST_FAILURES_AT_FIRST = 6

/** Distinguishes windows that fail from a service that is down: then the error that began it is the one to report. */
export class Outages {
  #failuresInARow = 0
  #first: unknown
  #hasAnswered = false

  answered(): void {
    this.#hasAnswered = true
    this.#failuresInARow = 0
    this.#first = undefined
  }

  failed(error: unknown): void {
    this.#failuresInARow += 1
    this.#first ??= error
  }

  /** The first error since an answer. */
  get first(): unknown {
    return this.#first
  }

  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  get isDown(): boolean {
    return this.#failuresInARow > (this.#hasAnswered ? MOST_FAILURES_IN_A_ROW : MOST_FAILURES_AT_FIRST)
  }
}
