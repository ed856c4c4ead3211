import type { Overlap } from '../window/overlap.ts'
import { USUAL_OVERLAP } from './planner.ts'

/** How many more rows the next windows share after one that did not link. */
const MORE_AFTER_MISS = 2
/** How many rows fewer after a window that did: at rest, and where rows moved. With MORE_AFTER_MISS, one window in fifty misses. */
const LESS_AT_REST = 0.5
const LESS_AFTER_LINK = 0.04

/**
 * How many rows a window is to share with the one before it: as many as the last shifts ask for. Rows deleted between two answers pull
 * the list to the left, out of the overlap; rows inserted push more into it.
 */
export class OverlapSize {
  #rows: number
  #sum = 0
  #links = 0

  /** `usual` is the size that the scan before it found; unknown without it. */
  constructor(usual = USUAL_OVERLAP) {
    this.#rows = Math.max(USUAL_OVERLAP, usual)
  }

  /** At least what two shared rows at rest need. */
  get rows(): number {
    return Math.round(this.#rows)
  }

  /** The mean over the scan; undefined without any window that links. */
  get usual(): number | undefined {
    return this.#links === 0 ? undefined : Math.round(this.#sum / this.#links)
  }

  /** A window linked with the one before it. */
  linked({ still }: Overlap): void {
    this.#links += 1
    this.#sum += this.#rows
    this.#rows = Math.max(USUAL_OVERLAP, this.#rows - (still ? LESS_AT_REST : LESS_AFTER_LINK))
  }

  /** The positions of a window overlapped with those of the one before it, but too few rows did. */
  missed(pageSize: number): void {
    const most = Math.ceil(pageSize / 3)
    this.#rows = Math.min(most, this.#rows + MORE_AFTER_MISS)
  }
}
