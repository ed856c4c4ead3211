import { SeenRows } from '../model/row-set.ts'
import type { Reason } from '../model/reasons.ts'
import { NO_PROOF, type Certificate, type Scan } from '../scan/scan.ts'
import { repeats } from '../scan/seam.ts'
import { Witnesses } from '../scan/witness.ts'
import {
  readOf,
  type ReadWindow,
  type RowKey,
  type StoppedAt,
  type Window,
  type WindowAnswer,
  type WindowFailure,
} from '../scan/window.ts'
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
  readonly #reasons = new Set<Reason>()
  /** What was read, by its first row. */
  readonly #reads = new Map<RowKey, ReadWindow>()
  readonly #witnesses = new Witnesses()
  readonly #seen = new SeenRows()
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
    const read = readOf(given, this.#cuts.length)
    const answer = { ...given, total: read.total, beyondEnd: read.isBeyondEnd }
    for (const key of read.keys) this.#seen.add(key)
    if (read.places.size < read.keys.length) this.#reasons.add('duplicate-id')
    if (this.#isRepeated(read)) return this.#reject(window, 'repeated-page')
    if (answer.perPage !== window.size && this.#cuts.length > 0) this.#reasons.add('size-refused')
    this.#plan.learn(answer)
    this.#total = answer.total ?? this.#total
    this.#witnesses.observe(read)
    const cut = cutFrom(answer, this.#options.expected)
    if (cut.reach < (answer.total ?? 0) && answer.rows.length < answer.perPage) this.#reasons.add('short-page')
    if (answer.rows.length > 0 || cut.start === 0) this.#cuts.push(cut)
    this.#comparison = undefined
    this.#endIfSpent()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#plan.answered(window)
    this.#answers += 1
    if (failure === 'size-refused' && this.#plan.retreat(window)) return void this.#reasons.add(failure)
    this.#reject(window, failure)
  }

  /** The window stays unread; a scan that has read none has nothing to go by. */
  #reject(window: Window, failure: WindowFailure): void {
    this.#reasons.add(failure)
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
    const reasons: Reason[] = ['quick', ...(isAtBudget ? (['quick-budget'] as const) : []), ...this.#reasons]
    return {
      ...NO_PROOF,
      reasons: this.done ? reasons : ['interrupted', ...reasons],
      requests: this.#answers,
      distinct: this.#seen.size,
      total: this.#total,
      pageSize: this.#plan.size,
      stoppedAt: this.done ? this.#stoppedAt : undefined,
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
      orderStays: this.#witnesses.hasOrder(size),
    })
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

  /** A stale cache serves the page it has under the numbers requested next. */
  #isRepeated(read: ReadWindow): boolean {
    const [key] = read.keys
    const before = key === undefined ? undefined : this.#reads.get(key)
    if (before !== undefined && repeats(before, read)) return true
    if (key !== undefined) this.#reads.set(key, read)
    return false
  }
}
