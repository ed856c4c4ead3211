import type { Chain } from './chain.ts'
import type { Findings } from './findings.ts'
import type { Stage } from './scan.ts'
import { seamBetween } from './seam.ts'
import {
  isEnd,
  startOf,
  windowAfter,
  windowFrom,
  windowKey,
  type ReadWindow,
  type RowKey,
  type Window,
} from './window.ts'

const MOST_WINDOWS = 8
const MOST_ROUNDS = 4

type Waiting = { readonly window: Window; readonly isTop: boolean; asked: boolean }

/**
 * The second stage: both ends of the list once more, after all else has arrived. Rows that moved there are read, or show that the order of
 * the rows is one that changes. Each end is read until it meets the rows that first stood there; the top again until one page does.
 */
export class Ends implements Stage {
  /** Whether both ends were met again, or nothing moved. */
  areMet = true
  readonly #findings: Findings
  #waiting: readonly Waiting[] = []
  #topKnown: ReadonlySet<RowKey>
  readonly #endKnown: ReadonlySet<RowKey>
  #tops: readonly ReadWindow[] = []
  #bottoms: readonly ReadWindow[] = []
  #rounds = 1
  #most: number

  constructor(findings: Findings, chain: Chain) {
    this.#findings = findings
    this.#topKnown = new Set(chain.first?.keys)
    this.#endKnown = new Set(chain.lastTwo.flatMap(({ keys }) => keys))
    this.#most = Math.max(MOST_WINDOWS, Math.ceil(findings.rows / findings.size / 2))
    const { isFixed, flaws, size, witnesses } = findings
    if (chain.isStill || chain.windows < 2 || isFixed || chain.isUnordered || flaws.size > 0) return
    this.#ask({ page: 1, size }, true)
    // In an order of which nothing is known, rows that moved may stand anywhere.
    if (witnesses.believed(size) !== undefined) this.#ask(this.#lastWindow(), false)
  }

  #lastWindow(): Window {
    const { rows, size } = this.#findings
    return windowFrom(Math.max(0, rows - Math.ceil(size / 2)), this.#findings)
  }

  #ask(window: Window | undefined, isTop: boolean): void {
    if (window === undefined) return
    this.#most -= 1
    if (this.#most < 0) this.areMet = false
    else this.#waiting = [...this.#waiting, { window, isTop, asked: false }]
  }

  next(): Window | undefined {
    const next = this.#waiting.find(({ asked }) => !asked)
    if (next === undefined) return undefined
    for (const each of this.#waiting) if (windowKey(each.window) === windowKey(next.window)) each.asked = true
    return next.window
  }

  get isOver(): boolean {
    return this.#waiting.length === 0
  }

  isWaitingFor(window: Window): boolean {
    return this.#waiting.some((each) => each.asked && windowKey(each.window) === windowKey(window))
  }

  /** A cache may hold the window, or the service refuse it: it is asked for once more in another size. */
  failed(window: Window): void {
    const { size } = this.#findings
    for (const { isTop } of this.#remove(window)) {
      const sizes = { size: size - 1, grain: this.#findings.grain }
      if (window.size < size || size < 3 || sizes.grain > 1) this.areMet = false
      else
        this.#ask(isTop && window.page === 1 ? { page: 1, size: size - 1 } : windowFrom(startOf(window), sizes), isTop)
    }
  }

  take(window: Window, read: ReadWindow): void {
    for (const { isTop } of this.#remove(window)) {
      if (read.keys.length === 0) this.#emptied(isTop)
      else if (isTop) this.#takeTop(read)
      else this.#takeBottom(read)
    }
  }

  #remove(window: Window): readonly Waiting[] {
    const removed = this.#waiting.filter((each) => windowKey(each.window) === windowKey(window))
    this.#waiting = this.#waiting.filter((each) => !removed.includes(each))
    return removed
  }

  #emptied(isTop: boolean): void {
    if (isTop || this.#findings.rows === 0) this.areMet = false
    else this.#ask(this.#lastWindow(), false)
  }

  #takeTop(read: ReadWindow): void {
    const above = this.#tops.at(-1)
    if (above !== undefined && seamBetween(above, read).shared === 0) {
      this.areMet = false
      return
    }
    this.#tops = [...this.#tops, read]
    if (!this.#isMet(this.#tops, this.#topKnown) && !isEnd(read)) {
      return this.#ask(windowAfter(read.reach, this.#findings.overlap, this.#findings), true)
    }
    if (this.#tops.length === 1 || this.#rounds >= MOST_ROUNDS) return
    this.#rounds += 1
    this.#topKnown = new Set(this.#tops[0]?.keys)
    this.#tops = []
    this.#ask({ page: 1, size: this.#findings.size }, true)
  }

  #takeBottom(read: ReadWindow): void {
    const { size, overlap, rows } = this.#findings
    const isLinked = this.#bottoms.some((other) => seamBetween(other, read).shared > 0)
    if (this.#bottoms.length > 0 && !isLinked) {
      this.areMet = false
      return
    }
    this.#bottoms = [...this.#bottoms, read]
    const highest = Math.max(...this.#bottoms.map(({ reach }) => reach))
    const lowest = Math.min(...this.#bottoms.map(({ start }) => start))
    if (!isEnd(read) && read.reach === highest && rows >= highest) {
      this.#ask(windowAfter(read.reach, overlap, this.#findings), false)
    } else if (!this.#isMet(this.#bottoms, this.#endKnown) && lowest > 0) {
      this.#ask(windowFrom(Math.max(0, lowest - Math.ceil(size / 2)), this.#findings), false)
    }
  }

  /** A single known row may have moved here itself. */
  #isMet(reads: readonly ReadWindow[], known: ReadonlySet<RowKey>): boolean {
    const met = new Set(reads.flatMap(({ keys }) => keys.filter((key) => known.has(key)))).size
    const enough = Math.ceil(Math.min(this.#findings.size, known.size) / 4)
    return met >= enough || (met > 0 && reads.length > 3)
  }
}
