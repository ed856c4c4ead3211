import type { ReadWindow } from '../window/read-window.ts'
import type { Overlap } from '../window/overlap.ts'
import { TieRegion } from './tie-region.ts'

/** From this share of a window on, rows of equal time are too many to step back over. */
const LONG_TIE = 0.5

/** Whether a seam lies among so many rows of one creation time that no window leads over them. */
export function isInsideTie({ ends }: Overlap, left: ReadWindow): boolean {
  return ends?.times === 0 && left.rowOrder.tieAtEnd >= left.window.size * LONG_TIE
}

/** The regions of equal creation times that a chain has crossed. */
export class TieRegions {
  readonly #regions: TieRegion[] = []
  #open: TieRegion | undefined

  /** The chain went on from `left` to `read` within a region. */
  cross(left: ReadWindow, read: ReadWindow): void {
    if (this.#open !== undefined) return this.#open.extend(read)
    this.#open = new TieRegion(left, read)
    this.#regions.push(this.#open)
  }

  /** The chain went on, or ended, outside a region. */
  leave(): void {
    this.#open?.close()
    this.#open = undefined
  }

  get all(): readonly TieRegion[] {
    return this.#regions
  }

  get areCounted(): boolean {
    return this.#regions.every(({ isCounted }) => isCounted)
  }
}
