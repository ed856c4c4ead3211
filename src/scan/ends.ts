import type { Chain } from './chain.ts'
import type { Findings } from './findings.ts'
import { PendingWindows } from './pending.ts'
import type { Failure, Stage } from './scan.ts'
import { seamBetween } from './seam.ts'
import { isEnd, joinedSpans, startOf, windowAfter, windowAt, windowFrom } from './window.ts'
import type { ReadWindow, RowKey, Span, Window } from './window.ts'

/**
 * The second stage, after all else has arrived: the top and then the bottom of the list once more. Rows that moved there are read, or show that
 * the order changes. Each end is read until it meets the rows that first stood there; the top again until one page does.
 */
export class Ends extends PendingWindows implements Stage {
  /** Whether both ends were met again, or nothing moved. */
  areMet = true
  readonly #findings: Findings
  #isAtTop = true
  #reads: readonly ReadWindow[] = []
  #topKnown: ReadonlySet<RowKey>
  readonly #endKnown: ReadonlySet<RowKey>

  constructor(findings: Findings, chain: Chain) {
    super()
    this.#findings = findings
    this.#topKnown = new Set(chain.first?.keys)
    this.#endKnown = new Set(chain.lastTwo.flatMap(({ keys }) => keys))
    const { isFixed, flaws, size } = findings
    if (chain.isStill || chain.windows < 2 || isFixed || chain.isUnordered || flaws.size > 0) return
    this.putFirst([{ page: 1, size }])
  }

  settle(window: Window, outcome: ReadWindow | Failure): void {
    if (!this.remove(window)) return
    const next = typeof outcome === 'string' ? this.#another(window) : this.#windowBeside(outcome)
    if (next === undefined) this.areMet = false
    else if (next !== 'met') this.putFirst([next])
  }

  /** A cache may hold the window, or the service refuse it: it is asked for once more in another size. */
  #another(window: Window): Window | undefined {
    const { size } = this.#findings
    if (window.size < size || size < 3) return undefined
    return windowFrom(startOf(window), size - 1)
  }

  /** The window to ask for next; undefined if this one does not link with the others at its end. */
  #windowBeside(read: ReadWindow): Window | 'met' | undefined {
    const isLinked = this.#reads.length === 0 || this.#reads.some((other) => seamBetween(other, read).shared > 0)
    const isEmpty = read.keys.length === 0
    if (!isLinked || (isEmpty && (this.#isAtTop || this.#findings.rows === 0))) return undefined
    if (isEmpty) return this.#windowAtEnd
    this.#reads = [...this.#reads, read]
    return this.#isAtTop ? this.#goDown(read) : this.#goUp(read)
  }

  get #windowAtEnd(): Window {
    const { rows, size } = this.#findings
    return this.#findings.windowCovering(rows - Math.ceil(size / 2))
  }

  #goDown(read: ReadWindow): Window | 'met' | undefined {
    const { size, overlap, witnesses } = this.#findings
    if (!this.#isMet(this.#topKnown) && !isEnd(read)) return windowAfter(read.reach, overlap, size)
    const isOnePage = this.#reads.length === 1
    this.#topKnown = new Set(this.#reads[0]?.keys)
    this.#reads = []
    if (!isOnePage) return { page: 1, size }
    this.#isAtTop = false
    // In an order of which nothing is known, rows that moved may stand anywhere.
    return witnesses.believed(size) === undefined ? 'met' : this.#windowAtEnd
  }

  #goUp(read: ReadWindow): Window | 'met' | undefined {
    const { size, overlap } = this.#findings
    const highest = Math.max(...this.#reads.map(({ reach }) => reach))
    const lowest = Math.min(...this.#reads.map(({ start }) => start))
    const isBelow = !isEnd(read) && read.reach === highest
    if (isBelow) return windowAfter(read.reach, overlap, size)
    if (this.#isMet(this.#endKnown) || lowest === 0) return 'met'
    return this.#findings.windowCovering(lowest - Math.ceil(size / 2))
  }

  /** A single known row may have moved here itself. */
  #isMet(known: ReadonlySet<RowKey>): boolean {
    const met = new Set(this.#reads.flatMap(({ keys }) => keys.filter((key) => known.has(key)))).size
    const enough = Math.ceil(Math.min(this.#findings.size, known.size) / 4)
    return met >= enough || (met > 0 && this.#reads.length > 3)
  }
}

const MOST_ROUNDS = 6

/** The third stage: stretches without a good seam once more, backward and in another size, until as many rows are known as the total says. */
export class Again extends PendingWindows implements Stage {
  readonly #findings: Findings
  readonly #spans: readonly Span[]
  #rounds = 0
  #asked = 0

  constructor(findings: Findings, chain: Chain) {
    super()
    this.#findings = findings
    // The rows that only some of the answers know stand behind the last window.
    const tail = findings.areTotalsAtOdds ? [{ from: chain.lastTwo[0]?.start ?? 0, to: findings.greatestTotal }] : []
    this.#spans = findings.isFixed ? [{ from: 0, to: findings.rows }] : joinedSpans([...chain.loose, ...tail])
    this.#plan()
  }

  #plan(): void {
    const { isFixed, areTotalsAtOdds, greatestTotal, rows: total, furthest, seen, size } = this.#findings
    // A total may be any number.
    const rows = Math.min(areTotalsAtOdds ? greatestTotal : total, furthest + size)
    const mayLack = rows > seen.size || (isFixed && this.#rounds === 0)
    if (!mayLack || this.#rounds >= MOST_ROUNDS || this.#asked >= rows / size) return
    this.#rounds += 1
    const other = isFixed ? size : Math.max(1, size - Math.ceil(size / 16) * this.#rounds - 1)
    const pages = new Set<number>()
    for (const { from, to } of this.#spans) {
      for (let at = from; at < Math.min(to, rows); at += other) pages.add(windowAt(at, other).page)
    }
    this.putFirst([...pages].map((page) => ({ page, size: other })).toReversed())
    this.#asked += pages.size
  }

  settle(window: Window): void {
    if (this.remove(window) && this.isOver) this.#plan()
  }
}
