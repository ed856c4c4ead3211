import type { ChainEnds } from './chain-ends.ts'
import type { Facts } from './facts.ts'
import { isEnd, type Held } from './held.ts'
import { askAgainOtherwise } from './other-sizes.ts'
import type { PassFailure } from './pass.ts'
import { USUAL_OVERLAP, windowAfter, windowFrom } from './planner.ts'
import type { Reason } from './reasons.ts'
import { seamBetween } from './seam.ts'
import { Slots } from './slots.ts'
import { endOf, isSame, type RowKey, type Window } from './window.ts'

/** Windows to read at one end before the rows first read there are given up. */
const MOST_WINDOWS = 8
/** Windows beyond the first with a row known there that make up for others of them, which may be deleted. */
const ENOUGH_AROUND = 2

/**
 * Both ends of a list, read once more before a witness is trusted. In an order by last change a changed row goes to an end,
 * and others that change or are new push it away from there. So each end is read on until rows are met that stood there when
 * it was first read: whatever went to that end since stands before them, and was read, or gives itself away by its order.
 */
export class Closing {
  readonly #ends: readonly End[]

  constructor(facts: Facts, { first, lastTwo: last }: Pick<ChainEnds, 'first' | 'lastTwo'>) {
    const beforeEnd = Math.max(0, facts.total - Math.ceil(facts.pageSize / 2))
    const bottom = windowFrom(beforeEnd, facts.pageSize)
    const top = { page: 1, size: facts.pageSize }
    this.#ends = [new End(facts, top, first, { toEnd: false }), new End(facts, bottom, last, { toEnd: true })]
  }

  next(): Window | undefined {
    for (const end of this.#ends) {
      const window = end.slots.notAsked()?.window
      if (window === undefined) continue
      // One answer serves both.
      for (const { slots } of this.#ends)
        for (const slot of slots.all) if (isSame(slot.window, window)) slot.asked = true
      return window
    }
    return undefined
  }

  take(window: Window, held: Held): void {
    for (const end of this.#ends) end.take(window, held)
  }

  failed(window: Window, failure: PassFailure): void {
    for (const end of this.#ends) end.failed(window, failure)
  }

  get over(): boolean {
    return this.#ends.every(({ slots }) => slots.empty)
  }

  get flaws(): readonly Reason[] {
    return this.#ends.flatMap(({ flaws }) => flaws)
  }
}

/** One end of the list: windows side by side, each asked for when the one before has arrived. */
class End {
  /** The window to be read next; none once the end is read. */
  readonly slots: Slots
  readonly flaws: Reason[] = []
  readonly #facts: Facts
  /** The rows first read here that were not met again yet. */
  readonly #known: Set<RowKey>
  /** How many of them to meet: one of them alone may have moved here as well. */
  #toMeet: number
  readonly #toEnd: boolean
  #low: Held | undefined
  #high: Held | undefined
  #windowsSinceMet = 0
  #windows = 1

  constructor(facts: Facts, window: Window, known: readonly Held[], { toEnd }: { toEnd: boolean }) {
    this.#facts = facts
    this.slots = new Slots([window])
    this.#known = new Set(known.flatMap(({ keys }) => keys))
    this.#toMeet = Math.ceil(Math.min(facts.pageSize, this.#known.size) / 4)
    this.#toEnd = toEnd
  }

  take(window: Window, held: Held): void {
    const slot = this.slots.waitingFor(window)
    if (slot === undefined) return
    this.slots.remove(slot)
    if (held.rows.length === 0) this.#readOn(this.#sooner(held))
    else if (this.#isLinked(held)) this.#readOn(this.#wanted())
    else this.flaws.push('not-quiet')
  }

  failed(window: Window, failure: PassFailure): void {
    const slot = this.slots.waitingFor(window)
    if (slot === undefined) return
    slot.failure = failure
    if (askAgainOtherwise(this.slots)) return
    this.slots.remove(slot)
    this.flaws.push(failure === 'flaky' ? 'hole' : failure)
  }

  /** Puts a window to those read; false when rows may stand between it and them. */
  #isLinked(held: Held): boolean {
    const [low, high] = [this.#low, this.#high]
    const isAbove = low !== undefined && held.start < low.start
    const [left, right] = isAbove ? [held, low] : [high, held]
    if (isAbove || low === undefined) this.#low = held
    if (!isAbove) this.#high = held
    this.#meet(held)
    return left === undefined || right === undefined || seamBetween(left, right).shared > 0
  }

  #meet({ keys }: Held): void {
    const before = this.#known.size
    for (const key of keys) this.#known.delete(key)
    this.#toMeet -= before - this.#known.size
    if (this.#windowsSinceMet > 0 || this.#known.size < before) this.#windowsSinceMet += 1
  }

  /** Where few of the rows known here are left, those that stand around them are met instead. */
  get #isMet(): boolean {
    return this.#toMeet <= 0 || this.#windowsSinceMet > ENOUGH_AROUND
  }

  #readOn(window: Window | undefined): void {
    if (window === undefined) return
    this.#windows += 1
    if (this.#windows > MOST_WINDOWS) this.flaws.push('not-quiet')
    else this.slots.add(window)
  }

  /** The window that is missing yet; undefined when the end is read. */
  #wanted(): Window | undefined {
    const { pageSize } = this.#facts
    const [low, high] = [this.#low, this.#high]
    if (low === undefined || high === undefined) return undefined
    if (!isEnd(high) && (this.#toEnd || !this.#isMet)) {
      return windowAfter(high.reach, USUAL_OVERLAP, pageSize) ?? windowFrom(high.reach, pageSize)
    }
    if (this.#isMet || low.start === 0) return undefined
    const before = windowFrom(Math.max(0, low.start - Math.ceil(pageSize / 2)), pageSize)
    return endOf(before) > low.start + 1 ? before : windowFrom(Math.max(0, low.start - 1), pageSize)
  }

  /** Nearer to the beginning than an answer without rows: the list has become shorter. */
  #sooner({ start }: Held): Window | undefined {
    const { pageSize, total } = this.#facts
    if (this.#high !== undefined && total <= this.#high.reach) return undefined
    if (total === 0) return undefined
    return windowFrom(Math.max(0, Math.min(total, start) - Math.ceil(pageSize / 2)), pageSize)
  }
}
