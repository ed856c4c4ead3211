import type { Findings } from '../findings.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { bridge } from './repair.ts'
import { startOf, type StoppedAt, type Window } from '../window/window.ts'

/** Steps back before page 1 is requested, which always exists. */
const MOST_STEPS = 5

/**
 * The list seems to end although its total promises more rows. It may have shrunk: pages further back state the new total. If
 * that still promises more rows, the service refused the page.
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

  /** The window that was refused although the total, as last stated by pages further back, promises rows there. */
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
