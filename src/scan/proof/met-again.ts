import type { Overlap } from '../window/overlap.ts'

/**
 * Rows that a chain met again elsewhere than where neighbours overlap. A row that moves from what was read to what was not pulls
 * the rows between, and a service that repeats rows in place of others does not.
 */
export class MetAgain {
  /** The rows of the chain, those shared by neighbours counted once. */
  #rows = 0
  /** The places by which rows were seen to move and the total to change, all added up. */
  #changes = 0

  /** Rows of one more window, or, below zero, rows that were counted twice. */
  addRows(count: number): void {
    this.#rows += count
  }

  addSeam({ pulled, pushed, grown }: Overlap): void {
    this.#changes += Math.max(pulled, pushed) + Math.abs(grown)
  }

  /** Whether the changes seen explain them, where the pass found `found` different rows. */
  isExplained(found: number): boolean {
    return this.#rows - found <= this.#changes
  }
}
