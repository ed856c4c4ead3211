import type { Facts } from './facts.ts'
import type { Held } from './held.ts'
import { bridge } from './mend.ts'
import { startOf, type StoppedAt, type Window } from './window.ts'

/** Steps back before page 1 is asked for, which is always there. */
const MOST_STEPS = 5

/**
 * The list seems to end although its total promises more. It may have shrunk since: pages further back know the new total.
 * Where they still promise more, the page that ends it was refused.
 */
export class LookBack {
  readonly #facts: Facts
  #furthest = 0
  #steps = 0
  /** The window that ended the list, and how; until the chain reaches further, nothing beyond is asked for. */
  #at: StoppedAt | undefined

  constructor(facts: Facts) {
    this.#facts = facts
  }

  get underWay(): boolean {
    return this.#at !== undefined
  }

  /** Where the list was refused although it promises more, as far as pages further back have told. */
  get refusedAt(): StoppedAt | undefined {
    return this.#at !== undefined && startOf(this.#at.window) < this.#facts.total ? this.#at : undefined
  }

  get hasBegun(): boolean {
    return this.#steps > 0
  }

  get exhausted(): boolean {
    return this.#steps > MOST_STEPS
  }

  reached(reach: number): void {
    if (reach <= this.#furthest) return
    this.#furthest = reach
    this.#steps = 0
    this.#at = undefined
  }

  refused(window: Window, failure: StoppedAt['failure']): void {
    this.#at = { window, failure }
    this.#facts.avoidPage(window.page)
  }

  /** The next window to look back at from the last one of the chain; `onward` where the chain was cut. */
  next(last: Held | undefined, refused: Window, onward: Window): Window {
    this.#steps += 1
    if (this.exhausted) return { page: 1, size: this.#facts.pageSize }
    return last === undefined ? onward : bridge(last, this.#steps, this.#facts, refused)
  }
}
