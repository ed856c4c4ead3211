import type { OrderFacts } from '../../list/order-facts.ts'
import { type Certificate, NO_PROOF } from '../certificate.ts'
import { prepareWindow } from '../window/read-window.ts'
import type { Reason } from '../reasons.ts'
import { RepeatedWindows } from '../window/repeated-windows.ts'
import type { Scan } from '../scan.ts'
import { seenIds } from '../seen.ts'
import { Witnesses } from '../proof/witness.ts'
import { unlessEmptied, type StoppedAt, type Window, type WindowFailure, type WindowAnswer } from '../window/window.ts'
import { cutFrom, type Cut, type ExpectedOrder } from './cut.ts'
import { conclude, type Conclusion } from './conclusion.ts'
import { compare, type Comparison } from './gaps.ts'
import { QuickPlan, type State } from './quick-plan.ts'

export type QuickScanOptions = {
  readonly expected: ExpectedOrder
  /** The most requests. */
  readonly maxRequests: number
  /** Rows that an earlier quick run missed at their places, and did not find elsewhere. */
  readonly pending?: readonly number[]
  /** A number that grows from run to run. */
  readonly turn?: number
  readonly pageSize?: number
}

/** A scan of a few pages, with what they show of who came and who left. */
export interface QuickScan extends Scan {
  conclusion(): Conclusion
}

/** About how many requests a scan of the whole list makes. */
export function requestsOfFullScan(customers: number, pageSize: number): number {
  return Math.ceil((customers * SHARED) / pageSize)
}

/** Neighbouring windows of a full scan overlap. */
const SHARED = 1.15

/**
 * Reads as few pages as show where the list differs from the expected one. It proves nothing: changes that cancel out between two
 * pages are not seen.
 */
export function quickScan(options: QuickScanOptions): QuickScan {
  return new BisectingScan(options)
}

/**
 * A scan is in one of two states:
 *
 *   reading ── the requests are used up, or the plan has no window left to ask for, and none is under way ──▶ done
 */
class BisectingScan implements QuickScan {
  readonly #options: Required<QuickScanOptions>
  readonly #plan: QuickPlan
  readonly #cuts: Cut[] = []
  readonly #reasons = new Map<Reason, number>()
  readonly #repeated = new RepeatedWindows()
  readonly #witnesses = new Witnesses()
  readonly #seen = seenIds()
  #answers = 0
  #total: number | undefined
  #comparison: Comparison | undefined
  #stoppedAt: StoppedAt | undefined
  #isOver = false

  constructor({ pageSize = 100, pending = [], turn = 0, ...options }: QuickScanOptions) {
    this.#options = { ...options, pageSize, pending, turn }
    this.#plan = new QuickPlan(this.#options)
  }

  next(free: number): Window[] {
    const windows = this.#isOver ? [] : this.#plan.take(free, this.#state())
    if (windows.length === 0 && this.#plan.isIdle) this.#isOver = true
    return windows
  }

  read(given: WindowAnswer): void {
    const { window } = given
    this.#plan.answered(window)
    this.#answers += 1
    if (given.rows.length > given.perPage) return this.#reject(window, 'page-mismatch')
    const answer = unlessEmptied(given, this.#cuts.length)
    const read = prepareWindow(answer, { windows: this.#answers, see: (row) => this.#seen.add(row) })
    if (read.hasDuplicates) this.#note('duplicate-id')
    if (this.#repeated.isRepeated(read)) return this.#reject(window, 'repeated-page')
    if (answer.perPage !== window.size) this.#note(this.#cuts.length === 0 ? 'capped-size' : 'size-refused')
    this.#plan.learn(answer)
    this.#total = answer.total ?? this.#total
    this.#witnesses.observe(read)
    const cut = cutFrom(answer, this.#options.expected)
    if (cut.reach < (answer.total ?? 0) && answer.rows.length < answer.perPage) this.#note('short-page')
    if (answer.rows.length > 0 || cut.start === 0) this.#cuts.push(cut)
    this.#comparison = undefined
    this.#endIfSpent()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#plan.answered(window)
    this.#answers += 1
    if (failure === 'size-refused' && this.#plan.retreat(window)) return this.#note(failure)
    this.#reject(window, failure)
  }

  /** The window stays unread; a scan that has read none has nothing to go by. */
  #reject(window: Window, failure: WindowFailure): void {
    this.#note(failure)
    if (this.#cuts.length === 0) this.#stoppedAt ??= { window, failure }
    this.#endIfSpent()
  }

  #endIfSpent(): void {
    if (this.#plan.isIdle && !this.#plan.hasMore(this.#state())) this.#isOver = true
  }

  get done(): boolean {
    return this.#isOver
  }

  certificate(): Certificate {
    const isAtBudget = this.done && this.#plan.isLeftToAsk(this.#state())
    const reasons: Reason[] = ['quick', ...(isAtBudget ? (['quick-budget'] as const) : []), ...this.#reasons.keys()]
    return {
      ...NO_PROOF,
      reasons: this.done ? reasons : ['interrupted', ...reasons],
      notes: [...this.#reasons].map(([reason, times]) => ({ reason, times })),
      requests: this.#answers,
      distinct: this.#seen.size,
      total: this.#total,
      pageSize: this.#plan.size,
      stoppedAt: this.done ? this.#stoppedAt : undefined,
      empty: this.done && this.#plan.end.length === 0,
      holes: [],
    }
  }

  conclusion(): Conclusion {
    const { size, end } = this.#plan
    return conclude({
      ...{ cuts: this.#cuts, comparison: this.#compared(), size },
      ...{ expected: this.#options.expected, pending: this.#options.pending },
      // Without a total, a page from which one row was left out looks like the last one.
      isEndKnown: end.length !== undefined && this.#total !== undefined,
      orderStays: this.#witnesses.believed(size).length > 0,
    })
  }

  /** A quick scan leaves what is known of the order as it is. */
  get order(): OrderFacts {
    return {}
  }

  #state(): State {
    return { cuts: this.#cuts, compared: () => this.#compared(), isStopped: this.#stoppedAt !== undefined }
  }

  #compared(): Comparison {
    const { end } = this.#plan
    const lengths = { end: end.length ?? end.least, expected: this.#options.expected.rowIds.length }
    this.#comparison ??= compare(this.#cuts, lengths)
    return this.#comparison
  }

  #note(reason: Reason): void {
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
  }
}
