import type { Findings } from '../findings.ts'
import type { PendingWindow } from '../plan/pending-windows.ts'
import type { Reason } from '../reasons.ts'
import { startOf, type Window } from '../window/window.ts'

/** Windows left unread until the list has most likely ended. */
const FEW = 2

/** The windows left unread since the last one of the chain. */
export class Unread {
  readonly #findings: Findings
  count = 0
  /** A window without rows although the chain has rows there: then the list has not ended there. */
  #emptied: Window | undefined

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** `chainEnds` is the position after the last row of the chain; 0 where it was cut. */
  add({ window, read }: PendingWindow, { chainEnds }: { chainEnds: number }): void {
    this.count += 1
    if (read?.all.length === 0 && startOf(window) < chainEnds) this.#emptied = window
  }

  /** The window that shows that the list has not ended: empty where the chain has rows, and the total still promises some. */
  get emptied(): Window | undefined {
    return this.#emptied && startOf(this.#emptied) < this.#findings.total ? this.#emptied : undefined
  }

  /** Whether so many windows without a row have most likely ended the list. Without a total this holds for errors too. */
  isLikelyEnd(reason: Reason): boolean {
    return this.count > FEW && (reason === 'short-page' || (reason === 'hole' && this.#findings.total === 0))
  }

  /** The chain goes on. */
  clear(): void {
    this.count = 0
    this.#emptied = undefined
  }
}
