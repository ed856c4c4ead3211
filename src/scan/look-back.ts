import type { Findings } from './findings.ts'
import type { ReadWindow } from './read-window.ts'
import { bridge } from './repair.ts'
import { startOf, type StoppedAt, type Window } from './window.ts'

/** Steps back before page 1 is asked for, which is always there. */
const MOST_STEPS = 5

/**
 * The list seems to end although its total promises more. It may have shrunk since: pages further back know the new total.
 * Where they still promise more, the page that ends it was refused.
 */
export class LookBack {
  readonly #findings: Findings
  #furthest = 0
  #steps = 0
  /** The window that ended the list, and how; until the chain reaches further, nothing beyond is asked for. */
  #at: StoppedAt | undefined

  constructor(findings: Findings) {
    this.#findings = findings
  }

  get underWay(): boolean {
    return this.#at !== undefined
  }

  /** Where the list was refused although it promises more, as far as pages further back have told. */
  get refusedAt(): StoppedAt | undefined {
    return this.#at !== undefined && startOf(this.#at.window) < this.#findings.total ? this.#at : undefined
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
    this.#findings.avoidPage(window.page)
  }

  /** The next window to look back at from the last one of the chain; `onward` where the chain was cut. */
  next(last: ReadWindow | undefined, refused: Window, onward: Window): Window {
    this.#steps += 1
    if (this.exhausted) return { page: 1, size: this.#findings.pageSize }
    return last === undefined ? onward : bridge(last, this.#steps, this.#findings, refused)
  }
}
