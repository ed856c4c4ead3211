import { isEnd, type ReadWindow } from '../window/read-window.ts'
import { type Answered, areLinked, type UpwardChain } from './upward-chain.ts'
import type { UpwardPlan } from './upward-plan.ts'

/** Windows in a row that link neither to the chain nor to the windows above the gap, before the order is given up. */
const MOST_MISSES = 12
/** Descents that begin no nearer to the top than one before, before the order is given up. */
const MOST_VAIN = 8
/** How often the chain may be begun again at the end of the list. */
const MOST_RESTARTS = 2

/**
 * Closes a gap between a chain and the windows above it: rows were pushed down further than the two overlap. What lies below those
 * windows is read, window by window, until one links to the chain, or holds the end of the list.
 */
export class UpwardDescent {
  readonly #chain: UpwardChain
  readonly #plan: UpwardPlan
  readonly #mostSteps: number
  /** The highest and the lowest of the windows above the gap; undefined without a gap. */
  #above: { readonly highest: ReadWindow; readonly lowest: ReadWindow } | undefined
  /** Where the descent that began nearest to the top began, and how many began no nearer since. */
  #highestStart = Infinity
  #vain = 0
  #misses = 0
  #steps = 0
  /** How often the end of the list was reached without meeting the chain. */
  restarts = 0

  constructor(chain: UpwardChain, plan: UpwardPlan, { mostSteps = Infinity } = {}) {
    this.#chain = chain
    this.#plan = plan
    this.#mostSteps = mostSteps
  }

  get isUnderWay(): boolean {
    return this.#above !== undefined
  }

  /** The window does not link to the chain. False when descents have led no further up for long. */
  begin(read: ReadWindow): boolean {
    this.#vain = read.start < this.#highestStart ? 0 : this.#vain + 1
    this.#highestStart = Math.min(this.#highestStart, read.start)
    this.#above = { highest: read, lowest: read }
    this.#plan.below(read, 0)
    return this.#vain <= MOST_VAIN
  }

  /** A window further down was read. False when the list does not behave like one by last change. */
  take(answered: Answered): boolean {
    const { read } = answered
    const above = this.#above
    if (above === undefined) return true
    // At some positions windows of small pages share a single row at most: a window that leads no further down does not help.
    const leadsOn = read.reach > above.lowest.reach || isEnd(read)
    if (!leadsOn || !areLinked(above.lowest, read)) return this.#miss(answered, above.lowest)
    this.#misses = 0
    this.#chain.link(above.lowest, read)
    this.#above = undefined
    if (this.#chain.extendBy(answered, above.highest)) return true
    if (isEnd(read)) return this.#beginAnew(read, above.highest)
    return this.#goOn(above.highest, read)
  }

  /** The first time, the window is asked for with more rows to share; then it takes the place of those above it, which are older. */
  #miss(answered: Answered, lowest: ReadWindow): boolean {
    const { read } = answered
    this.#misses += 1
    if (this.#misses > MOST_MISSES) return false
    if (this.#misses === 1 || read.all.length === 0) {
      this.#plan.below(lowest, this.#misses)
      return true
    }
    this.#above = undefined
    if (this.#chain.extend(answered)) return true
    return isEnd(read) ? this.#beginAnew(read, read) : this.#goOn(read, read)
  }

  #goOn(highest: ReadWindow, lowest: ReadWindow): boolean {
    this.#above = { highest, lowest }
    this.#plan.below(lowest, 0)
    this.#steps += 1
    return this.#steps <= this.#mostSteps
  }

  /** The list below the gap was read anew, down to its end. */
  #beginAnew(lowest: ReadWindow, highest: ReadWindow): boolean {
    if (this.#chain.top !== undefined) this.restarts += 1
    this.#chain.beginBy(lowest, highest)
    return this.restarts <= MOST_RESTARTS
  }
}
