import type { PendingWindow } from '../plan/pending-windows.ts'
import { startOf, type Window } from '../window/window.ts'

/** The windows left unread since the last one of the chain. */
export class Unread {
  count = 0
  /** A window without rows although the chain has rows there: then the list has not ended there. */
  emptied: Window | undefined

  /** `chainEnds` is the position after the last row of the chain; 0 where it was cut. */
  add({ window, read }: PendingWindow, { chainEnds }: { chainEnds: number }): void {
    this.count += 1
    if (read?.all.length === 0 && startOf(window) < chainEnds) this.emptied = window
  }

  /** The chain goes on. */
  clear(): void {
    this.count = 0
    this.emptied = undefined
  }
}
