import type { ReadWindow } from '../window/read-window.ts'

/** Both ends of a chain of windows, as first read. When the ends are read again, these rows are looked for. */
export class ChainEnds {
  /** The window at position 0 as it was first read; empty until then. */
  first: readonly ReadWindow[] = []
  /** The last two windows of the chain. */
  lastTwo: readonly ReadWindow[] = []

  /** The chain went on from `last` to `read`; `last` is undefined at its start and after positions that were not read. */
  extend(last: ReadWindow | undefined, read: ReadWindow): void {
    if (read.start === 0 && this.first.length === 0) this.first = [read]
    this.lastTwo = [last ?? read, read]
  }
}
