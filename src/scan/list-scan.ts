import { Chain } from './chain.ts'
import { Again, Ends } from './ends.ts'
import { Findings, isRoundCap } from './findings.ts'
import { PendingWindows } from './pending.ts'
import type { Reason } from '../model/reasons.ts'
import { NO_PROOF, type Certificate, type Scan, type Stage } from './scan.ts'
import {
  joinedSpans,
  readOf,
  sizeAfterRefusal,
  endOf,
  startOf,
  windowAt,
  windowKey,
  type ReadWindow,
  type Span,
  type Window,
  type WindowAnswer,
  type WindowFailure,
} from './window.ts'

export type ListScanOptions = {
  /** Rows to ask for at once, 1 to 100 (default). */
  readonly pageSize?: number
  /** Windows read before an interruption, in the order of their positions: those that still link are not read again. */
  readonly recalled?: Iterable<WindowAnswer>
  /** Read each page once, without overlaps and without a proof. */
  readonly isPlain?: boolean
  /** For a trial: end after so many windows, with the reason `page-limit`. */
  readonly pageLimit?: number | undefined
}

/** With these, customers may stand where no answer of now shows them. */
const IN_PARTS = new Set<Reason>([
  ...(['capped-total', 'offset-limit', 'hole', 'rejected-without-id', 'cached-answer', 'plain-scan'] as const),
])
/** The share of a list that may be lacking from one that was read whole. */
const MOST_LACKING = 0.03
/** A window that was too large is read on in halves, which stay large enough for a proof. */
const SMALLEST_SIZE = 10

/** A scan of a whole list that says whether every customer was read (the argument: scan.ts). */
export function listScan(options: ListScanOptions = {}): Scan {
  return new ListScan(options)
}

/**
 * Reads a list in three stages, each of which asks for windows until it is over and nothing is under way:
 *
 *   chain ──▶ ends ──▶ again ──▶ done
 *
 * A window that cannot be read is bisected first, whichever stage asked for it. The page sizes go their own way: unknown ──▶ agreed, with
 * the first answer ──▶ fixed, where the service takes only some.
 */
class ListScan implements Scan {
  readonly #findings: Findings
  readonly #chain: Chain
  /** In the order of their positions: the first one asks for its parts, while the others wait. */
  #bisections: readonly Bisection[] = []
  #holes: readonly Span[] = []
  /** How many answers had come when each window was asked for. */
  readonly #underWay = new Map<string, number>()
  readonly #isPlain: boolean
  /** How many windows it may still ask for. */
  #left: number
  #ends: Ends | undefined
  #again: Again | undefined
  #isOver = false
  #isResumed = false
  /** How many answers to smaller pages did not fit them. */
  #misfits = 0

  constructor({ pageSize = 100, recalled = [], isPlain = false, pageLimit = Infinity }: ListScanOptions) {
    const size = Math.min(100, Math.max(1, pageSize))
    this.#isPlain = isPlain
    this.#left = pageLimit
    this.#findings = new Findings(size, isPlain)
    this.#chain = new Chain(this.#findings)
    let largest = 0
    for (const answer of recalled) {
      if (answer.rows.length === 0 || answer.rows.length > answer.perPage) continue
      this.#isResumed = true
      largest = Math.max(largest, answer.perPage)
      this.#agreeOnSize(answer)
      this.#chain.recall(this.#prepare(answer))
    }
    // Larger pages may have been refused.
    if (largest > 0) this.#findings.size = Math.min(this.#findings.size, largest)
    this.#proceed()
  }

  next(free: number): Window[] {
    const windows: Window[] = []
    while (windows.length < Math.min(free, this.#left) && !this.#isOver) {
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
    this.#left -= windows.length
    this.#proceed()
    return windows
  }

  read(answer: WindowAnswer): void {
    const { window, rows, perPage } = answer
    if (rows.length > perPage) return this.failed(window, 'page-mismatch')
    const askedAt = this.#underWay.get(windowKey(window))
    this.#underWay.delete(windowKey(window))
    const isLate = this.#isLate(window)
    const isServed = isLate || this.#agreeOnSize(answer)
    const read = this.#prepare(answer, askedAt)
    this.#settleParts(window, true)
    if (!isServed) this.#beginFixed(perPage)
    else if (!isLate) this.#stage.settle(window, read)
    this.#proceed()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#underWay.delete(windowKey(window))
    // Asked for again in a smaller size, it counts once.
    if (failure === 'size-refused') this.#left += 1
    if (this.#stage.waitingFor(window) !== undefined && !this.#isLate(window)) this.#settleFailure(window, failure)
    this.#settleParts(window, false)
    this.#proceed()
  }

  #settleFailure(window: Window, failure: WindowFailure): void {
    const { reads, rows, size, isExact, isFixed } = this.#findings
    const smaller = failure === 'size-refused' && reads === 0 ? sizeAfterRefusal(size) : undefined
    // Nothing is to be found behind the end.
    const isBisectable = failure === 'hole' && (reads === 0 || startOf(window) < rows || rows === 0)
    if (smaller !== undefined) {
      this.#findings.size = smaller
      this.#chain.beginAnew()
    } else if (!isFixed && window.size < size && !isExact && this.#isSizeIgnored(failure)) this.#beginFixed(size)
    else if (isBisectable || failure === 'too-large')
      this.#bisections = [...this.#bisections, new Bisection(window, failure)].toSorted(byPosition)
    else this.#stage.settle(window, failure)
  }

  /**
   * A service that ignores the size it is asked for, and says that it does not, answers each smaller page with too many rows. One answer that
   * does not fit may come from a cache.
   */
  #isSizeIgnored(failure: WindowFailure): boolean {
    if (failure === 'page-mismatch') this.#misfits += 1
    return failure === 'size-refused' || (failure === 'page-mismatch' && this.#misfits > 1)
  }

  get done(): boolean {
    return this.#underWay.size === 0 && (this.#isOver || this.#left <= 0)
  }

  get #stage(): Stage {
    return this.#again ?? this.#ends ?? this.#chain
  }

  /** It was asked for before it was known that only one size is served. */
  #isLate({ size }: Window): boolean {
    return this.#findings.isFixed && size !== this.#findings.size
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

  /** Begins again with equal pages side by side, for a service that serves only one size, or few. */
  #beginFixed(size: number): void {
    const findings = this.#findings
    if (findings.isFixed) return this.#chain.stop({ page: 1, size }, 'page-mismatch')
    findings.fixSize(size)
    this.#bisections = []
    this.#chain.beginAnew()
  }

  #settleParts(part: Window, isRead: boolean): void {
    for (const bisection of this.#bisections) bisection.settle(part, isRead)
    const ended = this.#bisections.filter(({ isOver }) => isOver)
    this.#bisections = this.#bisections.filter(({ isOver }) => !isOver)
    for (const { window, unread, result: end } of ended) {
      this.#holes = joinedSpans([...this.#holes, ...unread])
      const half = Math.ceil(window.size / 2)
      if (end === 'too-large') this.#findings.size = Math.min(this.#findings.size, Math.max(SMALLEST_SIZE, half))
      if (end === 'hole' && this.#findings.reads === 0) this.#chain.stop(window, end)
      else this.#stage.settle(window, end)
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
    const { total, size, seen, unrepeated, reach, requests, lacking, limit } = this.#findings
    const { isComplete } = this.#chain
    const doubts = this.#doubts()
    const isWhole = total !== undefined && lacking <= MOST_LACKING * total && doubts.isDisjointFrom(IN_PARTS)
    return {
      ...this.#grade(doubts),
      requests,
      distinct: seen.size,
      unrepeated,
      reach,
      total,
      pageSize: size,
      isWhole: this.done && isComplete && isWhole,
      stoppedAt: this.done ? this.#chain.stoppedAt : undefined,
      limit,
      holes: this.#holes.map(({ from, to }) => ({ position: from, size: to - from })),
    }
  }

  #grade(doubts: ReadonlySet<Reason>): Pick<Certificate, 'proof' | 'basis' | 'witness' | 'reasons'> {
    const { witnesses, size } = this.#findings
    const chain = this.#chain
    const unproven = (...reasons: Reason[]) => ({ ...NO_PROOF, reasons })
    if (!this.done) return unproven('interrupted', ...doubts)
    if (!this.#isOver) return unproven('page-limit')
    if (!chain.isComplete || doubts.size > 0) return unproven(...doubts)
    if (chain.windows <= 1) return { proof: 'proven', basis: 'one-page', witness: undefined, reasons: [] }
    const witness = witnesses.believed(size)
    const areEndsMet = this.#ends?.isOver === true && this.#ends.areMet
    if (witness !== undefined && areEndsMet) return { proof: 'proven', basis: 'witness', witness, reasons: [] }
    if (chain.isFirm) return { proof: 'settled', basis: 'seams', witness: undefined, reasons: ['no-witness'] }
    return unproven(chain.isUnordered ? 'order-unstable' : 'link-broken')
  }

  /**
   * Whether the list has more rows by its total than were read, and its changes do not explain it. One seam at which it was seen to change
   * explains no more than the total has grown: one answer may have left out a row.
   */
  get #isLacking(): boolean {
    const { changes, rejected, lacking, grown } = this.#findings
    if (this.#isResumed) return false
    return lacking > rejected + Math.max(grown, this.#chain.restless > 1 ? changes : 0)
  }

  /** What speaks against any grade. */
  #doubts(): ReadonlySet<Reason> {
    const { flaws, rejected, rows, greatestTotal, total, areTotalsAtOdds } = this.#findings
    const doubts = new Set<Reason>(this.#isPlain ? ['plain-scan', ...flaws] : flaws)
    if (rejected > 0) doubts.add('rejected-without-id')
    // A plain scan proves nothing, and its total is not judged.
    if (this.#isPlain) doubts.delete('total-mismatch')
    if (this.#isPlain) return doubts
    if (isRoundCap(rows) && greatestTotal === rows && this.#chain.isComplete) doubts.add('capped-total')
    if (this.done && flaws.size === 0 && (total === undefined || this.#isLacking)) doubts.add('total-mismatch')
    if (areTotalsAtOdds) doubts.add('unequal-replicas')
    return doubts
  }
}

function byPosition(one: Bisection, other: Bisection): number {
  return startOf(one.window) - startOf(other.window)
}

const SIZES = [50, 25, 5, 1]
/** More unreadable positions in one window: the service is down there. */
const MOST_HOLES = 10

/** Finds the unreadable positions of a window by smaller and smaller ones in its place. */
class Bisection extends PendingWindows {
  readonly window: Window
  readonly unread: Span[] = []
  readonly #because: 'hole' | 'too-large'

  constructor(window: Window, because: 'hole' | 'too-large') {
    super()
    this.window = window
    this.#because = because
    this.#divide(window)
  }

  /** A part of it was read, or could not be. */
  settle(part: Window, isRead: boolean): void {
    if (this.remove(part) && !isRead) this.#divide(part)
  }

  #divide(part: Window): void {
    const isWanted = ({ page, size }: Window) =>
      size * page > startOf(this.window) && size * (page - 1) < endOf(this.window)
    const parts = this.unread.length < MOST_HOLES ? partsOf(part).filter(isWanted) : []
    if (parts.length === 0) this.unread.push({ from: startOf(part), to: endOf(part) })
    this.putFirst(parts)
  }

  /** How it ended. `flaky`: every part of the window was read; `too-large`: so it was, in parts because the whole is too large. */
  get result(): 'hole' | 'flaky' | 'too-large' {
    if (this.unread.length > 0) return 'hole'
    return this.#because === 'too-large' ? 'too-large' : 'flaky'
  }
}

/** The windows of the next smaller size that cover this one. */
function partsOf(window: Window): Window[] {
  const size = SIZES.find((smaller) => smaller < window.size)
  if (size === undefined) return []
  const first = windowAt(startOf(window), size).page
  return Array.from({ length: windowAt(endOf(window) - 1, size).page - first + 1 }, (_, index) => ({
    page: first + index,
    size,
  }))
}
