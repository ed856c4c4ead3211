import { Chain } from './chain.ts'
import { Again, Ends } from './ends.ts'
import { Findings, isRoundCap } from './findings.ts'
import { PendingWindows } from './pending.ts'
import type { Reason } from '../model/reasons.ts'
import { NO_PROOF, type Certificate, type Scan, type Stage } from './scan.ts'
import { endOf, joinedSpans, readOf, sizeAfterRefusal, startOf, windowAt, windowKey } from './window.ts'
import type { ReadWindow, Span, Window, WindowAnswer, WindowFailure } from './window.ts'

export type ListScanOptions = {
  /** Rows to ask for at once, 1 to 100 (default). */
  readonly pageSize?: number
  /** Windows read before an interruption, in the order of their positions: those that still link are not read again. */
  readonly recalled?: Iterable<WindowAnswer>
  /** Read each page once, without overlaps and without a proof. */
  readonly isPlain?: boolean
}

/** With these, customers may stand where no answer of now shows them. */
const IN_PARTS = new Set<Reason>([
  ...(['capped-total', 'offset-limit', 'hole', 'rejected-without-id', 'cached-answer', 'plain-scan'] as const),
])
/** The share of a list that may be lacking from one that was read whole. */
const MOST_LACKING = 0.03
/** A window that was too large is read on in halves, which stay large enough for a proof. */
const SMALLEST_SIZE = 10

/**
 * A scan of a whole list that says whether every customer was read (the argument: scan.ts), in three stages, each of which asks for windows
 * until it is over and nothing is under way:
 *
 *   chain ──▶ ends ──▶ again ──▶ done
 *
 * A window that cannot be read is bisected first, whichever stage asked for it. The page sizes go their own way: unknown ──▶ agreed, with
 * the first answer ──▶ fixed, where the service takes only some.
 */
export class ListScan implements Scan {
  readonly #findings: Findings
  readonly #chain: Chain
  /** In the order of their positions: the first one asks for its parts, while the others wait. */
  #bisections: readonly Bisection[] = []
  #holes: readonly Span[] = []
  /** How many answers had come when each window was asked for. */
  readonly #underWay = new Map<string, number>()
  readonly #isPlain: boolean
  #ends: Ends | undefined
  #again: Again | undefined
  #isOver = false
  /** How many answers to smaller pages did not fit them. */
  #misfits = 0

  constructor({ pageSize = 100, recalled = [], isPlain = false }: ListScanOptions = {}) {
    this.#isPlain = isPlain
    this.#findings = new Findings(Math.min(100, Math.max(1, pageSize)), isPlain)
    this.#chain = new Chain(this.#findings)
    let largest = 0
    for (const answer of recalled) {
      if (answer.rows.length === 0 || answer.rows.length > answer.perPage) continue
      largest = Math.max(largest, answer.perPage)
      this.#chain.recall(this.#prepare(answer))
    }
    // Larger pages may have been refused.
    if (largest > 0) this.#findings.size = Math.min(this.#findings.size, largest)
    this.#proceed()
  }

  next(free: number): Window[] {
    const windows: Window[] = []
    while (windows.length < free && !this.#isOver) {
      if (!this.#findings.mayAsk) {
        this.#chain.giveUp({ isBisecting: this.#bisections.length > 0 })
        this.#isOver = true
        break
      }
      const window = this.#bisections[0]?.next() ?? this.#stage.next()
      if (window === undefined) break
      // One answer serves all that ask for it.
      if (this.#underWay.has(windowKey(window))) continue
      this.#findings.requests += 1
      this.#underWay.set(windowKey(window), this.#findings.reads)
      windows.push(window)
    }
    return windows
  }

  read(answer: WindowAnswer): void {
    const { window, rows, perPage } = answer
    if (rows.length > perPage) return this.failed(window, 'page-mismatch')
    const askedAt = this.#underWay.get(windowKey(window))
    this.#underWay.delete(windowKey(window))
    // It may have been asked for before it was known that only one size is served.
    const isLate = this.#findings.isFixed && window.size !== this.#findings.size
    const isServed = isLate || this.#agreeOnSize(answer)
    const read = this.#prepare(answer, askedAt)
    this.#settleParts(window, true)
    if (!isServed) this.#beginFixed(window, perPage)
    else if (!isLate) this.#stage.settle(window, read)
    this.#proceed()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#underWay.delete(windowKey(window))
    if (this.#stage.waitingFor(window) !== undefined) this.#settleFailure(window, failure)
    this.#settleParts(window, false)
    this.#proceed()
  }

  #settleFailure(window: Window, failure: WindowFailure): void {
    const { reads, rows, size, isExact } = this.#findings
    const smaller = failure === 'size-refused' && reads === 0 ? sizeAfterRefusal(size) : undefined
    // Nothing is to be found behind the end.
    const isBisectable = failure === 'hole' && (startOf(window) < rows || rows === 0)
    if (smaller !== undefined) {
      this.#findings.size = smaller
      this.#chain.beginAnew()
    } else if (window.size < size && !isExact && this.#isSizeIgnored(failure)) this.#beginFixed(window, size)
    else if (isBisectable || failure === 'too-large') {
      const all = [...this.#bisections, new Bisection(window, failure === 'hole' ? 'flaky' : failure)]
      this.#bisections = all.toSorted((one, other) => startOf(one.window) - startOf(other.window))
    } else this.#stage.settle(window, failure)
  }

  /** A service that ignores the size, and denies it, answers each smaller page with too many rows; a single such answer may come from a cache. */
  #isSizeIgnored(failure: WindowFailure): boolean {
    if (failure === 'page-mismatch') this.#misfits += 1
    return failure === 'size-refused' || this.#misfits > 1
  }

  get done(): boolean {
    return this.#underWay.size === 0 && this.#isOver
  }

  get #stage(): Stage {
    return this.#again ?? this.#ends ?? this.#chain
  }

  #prepare(answer: WindowAnswer, askedAt?: number): ReadWindow {
    const read = readOf(answer, this.#findings.reads)
    this.#findings.observe(read, answer, askedAt)
    return read
  }

  /** Adopts the size of the first answer; false where another one shows that the service ignores the size it is asked for. */
  #agreeOnSize({ window, perPage }: WindowAnswer): boolean {
    if (perPage === window.size) return true
    if (this.#findings.reads > 0 || perPage > window.size) return false
    this.#findings.size = Math.max(1, perPage)
    return true
  }

  /** Begins again with equal pages side by side, for a service of few sizes; once the chain is over, the window counts as not read. */
  #beginFixed(window: Window, size: number): void {
    if (this.#chain.isOver) return this.#stage.settle(window, 'size-refused')
    if (this.#findings.isFixed) return this.#chain.stop({ page: 1, size }, 'page-mismatch')
    this.#findings.fixSize(size)
    this.#bisections = []
    this.#chain.beginAnew()
  }

  #settleParts(part: Window, isRead: boolean): void {
    for (const bisection of this.#bisections) bisection.settle(part, isRead)
    const ended = this.#bisections.filter(({ isOver }) => isOver)
    this.#bisections = this.#bisections.filter(({ isOver }) => !isOver)
    for (const { window, unread, result } of ended) {
      this.#holes = joinedSpans([...this.#holes, ...unread])
      const half = Math.max(SMALLEST_SIZE, Math.ceil(window.size / 2))
      if (result === 'too-large') this.#findings.size = Math.min(this.#findings.size, half)
      if (result === 'hole' && this.#findings.reads === 0) this.#chain.stop(window, result)
      else this.#stage.settle(window, result)
    }
  }

  /** The next stage, once the one before is over and nothing is under way. */
  #proceed(): void {
    while (!this.#isOver && this.#underWay.size === 0 && this.#stage.isOver) {
      if (!this.#chain.isComplete || this.#isPlain || this.#again !== undefined) this.#isOver = true
      else if (this.#ends === undefined) this.#ends = new Ends(this.#findings, this.#chain)
      else this.#again = new Again(this.#findings, this.#chain)
    }
  }

  certificate(): Certificate {
    const { total, size, seen, unrepeated, furthest, requests, lacking, limit } = this.#findings
    const doubts = this.#doubts()
    const isWhole = total !== undefined && lacking <= MOST_LACKING * total && doubts.isDisjointFrom(IN_PARTS)
    return {
      ...this.#grade(doubts),
      ...{ requests, distinct: seen.size, unrepeated, reach: furthest, total, pageSize: size, limit },
      isWhole: this.#chain.isComplete && isWhole,
      stoppedAt: this.done ? this.#chain.stoppedAt : undefined,
      holes: this.#holes.map(({ from, to }) => ({ position: from, size: to - from })),
    }
  }

  #grade(doubts: ReadonlySet<Reason>): Pick<Certificate, 'proof' | 'basis' | 'witness' | 'reasons'> {
    const chain = this.#chain
    const unproven = (...reasons: Reason[]) => ({ ...NO_PROOF, reasons })
    if (!this.done) return unproven('interrupted', ...doubts)
    if (!chain.isComplete || doubts.size > 0) return unproven(...doubts)
    if (chain.windows <= 1) return { proof: 'proven', basis: 'one-page', witness: undefined, reasons: [] }
    const witness = this.#findings.witnesses.believed(this.#findings.size)
    if (witness !== undefined && this.#ends?.areMet === true)
      return { proof: 'proven', basis: 'witness', witness, reasons: [] }
    if (chain.isFirm) return { proof: 'settled', basis: 'seams', witness: undefined, reasons: ['no-witness'] }
    return unproven(chain.isUnordered ? 'order-unstable' : 'link-broken')
  }

  /**
   * Whether the list has more rows by its total than were read, and its changes do not explain it. One seam at which it was seen to change
   * explains no more than the total has grown, but for that of an interruption: one answer may have left out a row.
   */
  get #isLacking(): boolean {
    const { changes, changesBefore, rejected, lacking, grown } = this.#findings
    return lacking > rejected + Math.max(grown, this.#chain.restless > 1 ? changes : changesBefore)
  }

  #doubts(): ReadonlySet<Reason> {
    const { flaws, rejected, rows, greatestTotal, total, areTotalsAtOdds } = this.#findings
    const doubts = new Set<Reason>(this.#isPlain ? ['plain-scan', ...flaws] : flaws)
    if (rejected > 0) doubts.add('rejected-without-id')
    // A plain scan proves nothing, and its total is not judged.
    if (this.#isPlain) return doubts.difference(new Set(['total-mismatch']))
    if (isRoundCap(rows) && greatestTotal === rows && this.#chain.isComplete) doubts.add('capped-total')
    if (this.done && flaws.size === 0 && (total === undefined || this.#isLacking)) doubts.add('total-mismatch')
    if (areTotalsAtOdds) doubts.add('unequal-replicas')
    return doubts
  }
}

const SIZES = [50, 25, 5, 1]
/** More unreadable positions in one window: the service is down there. */
const MOST_HOLES = 10

/** Finds the unreadable positions of a window by smaller and smaller ones in its place. */
class Bisection extends PendingWindows {
  readonly window: Window
  readonly unread: Span[] = []
  readonly #whole: 'flaky' | 'too-large'

  constructor(window: Window, whole: 'flaky' | 'too-large') {
    super()
    this.window = window
    this.#whole = whole
    this.#divide(window)
  }

  settle(part: Window, isRead: boolean): void {
    if (this.remove(part) && !isRead) this.#divide(part)
  }

  #divide(part: Window): void {
    const size = this.unread.length < MOST_HOLES ? SIZES.find((smaller) => smaller < part.size) : undefined
    if (size === undefined) return void this.unread.push({ from: startOf(part), to: endOf(part) })
    const from = Math.max(startOf(part), startOf(this.window))
    const to = Math.min(endOf(part), endOf(this.window)) - 1
    const [first, last] = [windowAt(from, size).page, windowAt(to, size).page]
    this.putFirst(Array.from({ length: last - first + 1 }, (_, index) => ({ page: first + index, size })))
  }

  /** How it ended. `flaky`: every part of the window was read; `too-large`: so it was, in parts because the whole is too large. */
  get result(): 'hole' | 'flaky' | 'too-large' {
    return this.unread.length > 0 ? 'hole' : this.#whole
  }
}
