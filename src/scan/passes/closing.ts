import type { ChainEnds } from '../proof/chain-ends.ts'
import type { Findings } from '../findings.ts'
import { isEnd, type ReadWindow } from '../window/read-window.ts'
import { askAgainOtherwise } from '../forward/other-sizes.ts'
import type { PassFailure } from '../pass.ts'
import { USUAL_OVERLAP, windowBehind, windowFrom } from '../plan/planner.ts'
import type { Reason } from '../reasons.ts'
import { overlapBetween, seamBetween } from '../window/overlap.ts'
import { PendingWindows } from '../plan/pending-windows.ts'
import { endOf, isSame, type RowKey, type Window } from '../window/window.ts'

/** How many windows are read at one end before the rows first read there are given up. */
const MOST_WINDOWS = 8
/** After the first window with a known row, this many more make up for known rows that may have been deleted. */
const ENOUGH_AROUND = 2

/**
 * Both ends of a list, read again before a witness is trusted. In an order by last change a changed row moves to an end,
 * and others that change or are new push it away from there. So each end is read on until rows are met that stood there when
 * it was first read: a row that moved to that end since stands before them, so it is read, or shows as out of order.
 */
export class Closing {
  readonly #ends: readonly End[]

  constructor(findings: Findings, { first, lastTwo: last }: Pick<ChainEnds, 'first' | 'lastTwo'>) {
    const beforeEnd = Math.max(0, findings.total - Math.ceil(findings.pageSize / 2))
    const bottom = windowFrom(beforeEnd, findings.pageSize)
    const top = { page: 1, size: findings.pageSize }
    this.#ends = [new End(findings, top, first, { toEnd: false }), new End(findings, bottom, last, { toEnd: true })]
  }

  next(): Window | undefined {
    for (const end of this.#ends) {
      const window = end.pending.notAsked()?.window
      if (window === undefined) continue
      // One answer serves both ends.
      for (const other of this.#ends)
        for (const pending of other.pending.all) if (isSame(pending.window, window)) pending.asked = true
      return window
    }
    return undefined
  }

  take(window: Window, read: ReadWindow): void {
    for (const end of this.#ends) end.take(window, read)
  }

  failed(window: Window, failure: PassFailure): void {
    for (const end of this.#ends) end.failed(window, failure)
  }

  get over(): boolean {
    return this.#ends.every(({ pending }) => pending.empty)
  }

  get flaws(): readonly Reason[] {
    return this.#ends.flatMap(({ flaws }) => flaws)
  }
}

/** One end of the list: windows side by side, each asked for when the one before has arrived. */
class End {
  /** The next window to read; empty once the end is read. */
  readonly pending: PendingWindows
  readonly flaws: Reason[] = []
  readonly #findings: Findings
  /** The rows first read here that were not read again yet. */
  readonly #known: Set<RowKey>
  /** How many of them must be read again: a single one may have moved here itself. */
  #toMeet: number
  readonly #toEnd: boolean
  #low: ReadWindow | undefined
  #high: ReadWindow | undefined
  #windowsSinceMet = 0
  #windows = 1

  constructor(findings: Findings, window: Window, known: readonly ReadWindow[], { toEnd }: { toEnd: boolean }) {
    this.#findings = findings
    this.pending = new PendingWindows([window])
    this.#known = new Set(known.flatMap(({ keys }) => keys))
    this.#toMeet = Math.ceil(Math.min(findings.pageSize, this.#known.size) / 4)
    this.#toEnd = toEnd
  }

  take(window: Window, read: ReadWindow): void {
    const pending = this.pending.waitingFor(window)
    if (pending === undefined) return
    this.pending.remove(pending)
    if (read.rows.length === 0) this.#readOn(this.#sooner(read))
    else if (this.#isLinked(read)) this.#readOn(this.#wanted())
    else this.flaws.push('not-quiet')
  }

  failed(window: Window, failure: PassFailure): void {
    const pending = this.pending.waitingFor(window)
    if (pending === undefined) return
    pending.failure = failure
    if (askAgainOtherwise(this.pending)) return
    this.pending.remove(pending)
    this.flaws.push(failure === 'flaky' ? 'hole' : failure)
  }

  /** Adds a window to those read; false when rows may stand between it and them. */
  #isLinked(read: ReadWindow): boolean {
    const [low, high] = [this.#low, this.#high]
    const isAbove = low !== undefined && read.start < low.start
    const [left, right] = isAbove ? [read, low] : [high, read]
    if (isAbove || low === undefined) this.#low = read
    if (!isAbove) this.#high = read
    this.#meet(read)
    if (left === undefined || right === undefined) return true
    this.#findings.remembered.linkAtEnd(seamBetween(left, right))
    return overlapBetween(left, right).shared > 0
  }

  #meet({ keys }: ReadWindow): void {
    const before = this.#known.size
    for (const key of keys) this.#known.delete(key)
    this.#toMeet -= before - this.#known.size
    if (this.#windowsSinceMet > 0 || this.#known.size < before) this.#windowsSinceMet += 1
  }

  /** When few of the known rows are left, the rows around them are read instead. */
  get #isMet(): boolean {
    return this.#toMeet <= 0 || this.#windowsSinceMet > ENOUGH_AROUND
  }

  #readOn(window: Window | undefined): void {
    if (window === undefined) return
    this.#windows += 1
    if (this.#windows > MOST_WINDOWS) this.flaws.push('not-quiet')
    else this.pending.add(window)
  }

  /** The window that is still missing; undefined when the end is read. */
  #wanted(): Window | undefined {
    const { pageSize } = this.#findings
    const [low, high] = [this.#low, this.#high]
    if (low === undefined || high === undefined) return undefined
    if (!isEnd(high) && (this.#toEnd || !this.#isMet)) {
      return windowBehind(high.reach, USUAL_OVERLAP, pageSize)
    }
    if (this.#isMet || low.start === 0) return undefined
    const before = windowFrom(Math.max(0, low.start - Math.ceil(pageSize / 2)), pageSize)
    return endOf(before) > low.start + 1 ? before : windowFrom(Math.max(0, low.start - 1), pageSize)
  }

  /** A window nearer to the beginning: an answer without rows shows that the list has become shorter. */
  #sooner({ start }: ReadWindow): Window | undefined {
    const { pageSize, total } = this.#findings
    if (this.#high !== undefined && total <= this.#high.reach) return undefined
    return windowFrom(Math.max(0, Math.min(total, start) - Math.ceil(pageSize / 2)), pageSize)
  }
}
