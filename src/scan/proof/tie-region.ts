import { isEnd, type ReadWindow } from '../window/read-window.ts'
import { compareRows, type Order } from '../window/row-order.ts'
import { isPlaced, rowOf, type Row, type RowKey } from '../window/window.ts'

/** More rows than this are not counted: their keys are kept in memory. */
const MOST_ROWS = 50_000

/**
 * Rows of one creation time, or of a few, that fill more than a page and may stand in another order in every answer: no seam among
 * them proves that nothing was missed. They can be counted instead. The region begins at the first row of the first time,
 * in the window `start`, and ends before the rows of the last time in the window `end`, or with the list. As many different rows
 * as it has positions are all of its rows, unless rows were added and deleted within it while it was read.
 */
export class TieRegion {
  readonly start: ReadWindow
  end: ReadWindow
  /** The region has been counted in full, and stands where it stood. */
  isCounted = false
  /** The total did not change while the chain crossed it. */
  isQuiet = true
  readonly #rows = new Set<RowKey>()

  constructor(start: ReadWindow, next: ReadWindow) {
    this.start = start
    this.end = next
    this.#compareTotals(next)
    this.#addTie(start)
  }

  /** The chain goes on with another window inside the region. */
  extend(read: ReadWindow): void {
    if (this.isCountable) for (const key of this.end.keys) this.#rows.add(key)
    this.end = read
    this.#compareTotals(read)
  }

  #compareTotals({ total }: ReadWindow): void {
    this.isQuiet &&= total === this.start.total
  }

  /** Forgets the rows that were read so far. */
  forget(): void {
    this.#rows.clear()
  }

  /** The chain goes on behind the region, or the list ends: counts the rows of its last window. */
  close(): void {
    this.#addBeforeTie(this.end)
  }

  /** The rows of the first window that belong to the region. */
  #addTie({ keys, rowOrder }: ReadWindow): void {
    for (const key of keys.slice(keys.length - rowOrder.tieAtEnd)) this.#rows.add(key)
  }

  /** The rows of the last window that belong to the region. */
  #addBeforeTie({ keys, rowOrder }: ReadWindow): void {
    const inside = this.endsList ? keys.length : keys.length - rowOrder.tieAtEnd
    for (const key of keys.slice(0, inside)) this.#rows.add(key)
  }

  get endsList(): boolean {
    return isEnd(this.end)
  }

  get isCountable(): boolean {
    return this.#rows.size <= MOST_ROWS
  }

  get from(): number {
    return beginOfTie(this.start)
  }

  get to(): number {
    return this.endsList ? this.end.reach : beginOfTie(this.end)
  }

  get size(): number {
    return this.to - this.from
  }

  /** How many of its rows were not read yet. */
  get unread(): number {
    return this.size - this.#rows.size
  }

  /** Adds the rows of a window that lies in the region; those of any other prove nothing about it. */
  add(read: ReadWindow): void {
    if (this.#holds(read)) for (const key of read.keys) this.#rows.add(key)
  }

  /** Whether the window at its beginning, read again, shows it where it was; then its rows count too. */
  begins(again: ReadWindow): boolean {
    const stands = beginOfTie(again) === this.from && isOfOneTime(lastOf(again), lastOf(this.start))
    if (stands) this.#addTie(again)
    return stands
  }

  /** The same for the window at its end. */
  ends(again: ReadWindow): boolean {
    const stands = this.endsList
      ? isEnd(again) && again.reach === this.end.reach
      : beginOfTie(again) === this.to && isOfOneTime(lastOf(again), lastOf(this.end))
    if (stands) this.#addBeforeTie(again)
    return stands
  }

  #holds(read: ReadWindow): boolean {
    const [first, last] = [firstOf(read), lastOf(read)]
    const [before, low, high] = [firstOf(this.start), lastOf(this.start), lastOf(this.end)]
    if (first === undefined || last === undefined || low === undefined || high === undefined) return false
    const direction = this.endsList ? directionFrom(before, low) : directionFrom(low, high)
    const isAfterStart = this.from === 0 || compareRows(first, low).times * direction >= 0
    return isAfterStart && (this.endsList || compareRows(last, high).times * direction < 0)
  }
}

/** The position of the first of the rows of equal time with which a window ends. */
function beginOfTie({ reach, rowOrder }: ReadWindow): number {
  return reach - rowOrder.tieAtEnd
}

function firstOf({ rows }: ReadWindow): Row | undefined {
  const row = rows.find(isPlaced)
  return row === undefined ? undefined : rowOf(row)
}

function lastOf({ rows }: ReadWindow): Row | undefined {
  const row = rows.findLast(isPlaced)
  return row === undefined ? undefined : rowOf(row)
}

function isOfOneTime(one: Row | undefined, other: Row | undefined): boolean {
  return one !== undefined && other !== undefined && compareRows(one, other).times === 0
}

function directionFrom(one: Row | undefined, other: Row | undefined): Order {
  return one === undefined || other === undefined ? 1 : compareRows(other, one).times
}
