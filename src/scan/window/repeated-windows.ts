import { repeats } from './overlap.ts'
import type { ReadWindow } from './read-window.ts'
import { keyOf, type RowKey } from './window.ts'

/** The part of a window that is compared. */
type Compared = Pick<ReadWindow, 'start' | 'total' | 'all'>

/** A stale cache serves the page it has under the numbers requested next. */
const REMEMBERED = 64

/** Remembers the windows read last, for a pass that does not link each window with its neighbour. */
export class RepeatedWindows {
  readonly #byFirstRow = new Map<RowKey, Compared>()

  /** Whether the rows of this window were read before, at other positions. If not, the window is remembered. */
  isRepeated(read: Compared): boolean {
    const key = firstKeyOf(read)
    if (key === undefined) return false
    const before = this.#byFirstRow.get(key)
    if (before !== undefined && repeats(before, read)) return true
    this.#byFirstRow.delete(key)
    this.#byFirstRow.set(key, read)
    const [oldest] = this.#byFirstRow.keys()
    if (this.#byFirstRow.size > REMEMBERED && oldest !== undefined) this.#byFirstRow.delete(oldest)
    return false
  }
}

function firstKeyOf({ all }: Compared): RowKey | undefined {
  for (const row of all) {
    const key = keyOf(row)
    if (key !== undefined) return key
  }
  return undefined
}
