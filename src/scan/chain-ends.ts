import type { Held } from './held.ts'

/** Both ends of a chain of windows, as they were read: rows known there are looked for when the ends are read once more. */
export class ChainEnds {
  /** The window at position 0 as it was first read; none before. */
  first: readonly Held[] = []
  /** The last two windows of the chain. */
  lastTwo: readonly Held[] = []

  /** The chain went on from `last` to `held`; `last` is undefined at its start and after positions that were not read. */
  extend(last: Held | undefined, held: Held): void {
    if (held.start === 0 && this.first.length === 0) this.first = [held]
    this.lastTwo = [last ?? held, held]
  }
}
