import type { OrderFacts } from '../list/order-facts.ts'
import type { Certificate, Hole } from './certificate.ts'
import { Findings } from './findings.ts'
import { prepareWindow, type ReadWindow } from './window/read-window.ts'
import { ClosedPass } from './passes/closed-pass.ts'
import type { Pass } from './pass.ts'
import { Passes } from './passes/passes.ts'
import { PageSizes, sizeAfterRefusal } from './plan/page-sizes.ts'
import { USUAL_OVERLAP } from './plan/planner.ts'
import type { RememberedList } from './proof/remembered-order.ts'
import type { Reason } from './reasons.ts'
import { RequestBudget } from './plan/request-budget.ts'
import { type Scan, type ScanCaps, USUAL_CAPS } from './scan.ts'
import { type SeenIds, seenIds } from './seen.ts'
import { Coverage } from './coverage.ts'
import { SMALLEST_PAGE } from './proof/witness.ts'
import { UpwardPass } from './upward/upward-pass.ts'
import { windowKey, type Window, type WindowFailure, type WindowAnswer } from './window/window.ts'
import type { ScanVerdict } from './passes/verdict.ts'
import { Bisection, joinHoles } from './plan/bisection.ts'

export type ChainScanOptions = {
  /** Rows to ask for at once, 1 to 100 (default). */
  readonly pageSize?: number
  readonly caps?: Partial<ScanCaps>
  /** Where the ids read are kept. Must be empty, and is used by this scan alone. */
  readonly seen?: SeenIds
  /** Windows read before an interruption, in the order of their positions: those that still link are not read again. */
  readonly recalled?: Iterable<WindowAnswer>
  /** What the scans before found out about the order of the list. */
  readonly order?: OrderFacts
  /** The list as the last complete run read it. */
  readonly list?: RememberedList
}

/** A scan of overlapping windows that says whether they prove that every row was read (see certificate.ts). */
export function chainScan(options: ChainScanOptions = {}): Scan {
  return new ChainScan(options)
}

/**
 * A scan reads the list in one pass after another. It is in one of three states:
 *
 *              an answer: to the bisection that waits for it, and to the pass
 *               ┌─────┐
 *               ▼     │    the pass is over: the list ends, a flaw, a cap, or a service that takes other page sizes
 *   ──────▶  reading ─┴──────────────────────────▶ draining: asks for nothing, windows under way arrive
 *               ▲                                      │
 *               └── no verdict yet, or a restart: ─────┤ nothing is under way
 *                   the next pass                      │
 *                                                      └── a verdict ──▶ done
 *
 *   reading: #pass.over is false      draining: #pass.over is true      done: #passes.verdict is known
 *
 * The page sizes go their own way over all passes: unknown ──▶ agreed ──▶ fixed (plan/page-sizes.ts).
 */
class ChainScan implements Scan {
  readonly #findings: Findings
  readonly #coverage: Coverage
  readonly #underWay = new Set<string>()
  readonly #bisections = new Bisections()
  readonly #budget: RequestBudget
  readonly #sizes: PageSizes
  readonly #passes: Passes
  #answers = 0

  constructor({ pageSize = 100, caps, seen = seenIds(), recalled = [], order, list }: ChainScanOptions) {
    this.#findings = new Findings(Math.min(100, Math.max(1, pageSize)), order, list)
    this.#sizes = new PageSizes(this.#findings)
    this.#coverage = new Coverage(seen)
    this.#coverage.startPass()
    const usual = { ...USUAL_CAPS, ...caps }
    this.#budget = new RequestBudget(usual.requests)
    const [findings, sizes, coverage, budget] = [this.#findings, this.#sizes, this.#coverage, this.#budget]
    const upward = order?.direction === 'last-change' ? new UpwardPass(findings) : undefined
    const first = new ClosedPass(findings, USUAL_OVERLAP, upward)
    this.#passes = new Passes({ findings, sizes, coverage, budget, caps: usual }, first)
    this.#recall(recalled, first)
    this.#conclude()
  }

  next(free: number): Window[] {
    const windows: Window[] = []
    while (windows.length < free) {
      const window = this.#nextWithinCaps()
      if (window === undefined) break
      this.#budget.spend()
      this.#underWay.add(windowKey(window))
      windows.push(window)
    }
    return windows
  }

  read(answer: WindowAnswer): void {
    if (answer.rows.length > answer.perPage) return this.failed(answer.window, 'page-mismatch')
    this.#arrived(answer.window)
    const obeyed = this.#agreeOnSize(answer)
    const read = this.#takeIn(answer)
    this.#bisections.answered(answer.window, obeyed ? 'read' : 'failed')
    if (obeyed) this.#settleBisections()
    this.#pass.take(answer.window, read)
    if (this.#findings.pageSize < SMALLEST_PAGE && !this.#pass.over && !this.#sizes.isFixed) {
      this.#readSideBySide('no-overlap')
    }
    this.#conclude()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#arrived(window)
    this.#findings.note(failure)
    if (this.#bisections.answered(window, 'failed')) this.#pass.failed(window, 'flaky')
    else if (failure === 'size-refused') this.#refuse(window)
    else if (failure === 'hole' || failure === 'too-large') this.#bisections.begin(window, failure)
    else this.#pass.failed(window, failure)
    this.#settleBisections()
    this.#conclude()
  }

  get done(): boolean {
    return this.#passes.verdict !== undefined
  }

  get order(): OrderFacts {
    return orderForNextScan(this.#findings, this.#passes)
  }

  certificate(): Certificate {
    return certificateOf({
      passes: this.#passes,
      answers: this.#answers,
      findings: this.#findings,
      coverage: this.#coverage,
      sizes: this.#sizes,
      bisections: this.#bisections,
    })
  }

  get #pass(): Pass {
    return this.#passes.current
  }

  #recall(answers: Iterable<WindowAnswer>, pass: ClosedPass): void {
    let largest = 0
    for (const answer of answers) {
      if (pass.over || answer.rows.length === 0 || answer.rows.length > answer.perPage) continue
      if (answer.window.page === 1 && !this.#sizes.isKnown) this.#agreeOnSize(answer)
      largest = Math.max(largest, answer.perPage)
      // Between any two of them the scan may have been interrupted before: what is recorded does not say where.
      pass.recall(this.#takeIn({ ...answer, stretch: -this.#coverage.windows }))
    }
    this.#coverage.resume()
    // Larger pages may have been refused.
    if (largest > 0) this.#findings.pageSize = Math.min(this.#findings.pageSize, largest)
  }

  #takeIn(answer: WindowAnswer): ReadWindow {
    const read = prepareWindow(answer, this.#coverage)
    this.#findings.learn(read)
    this.#coverage.add(read)
    this.#budget.answered(read.total, this.#coverage.distinct)
    return read
  }

  #arrived(window: Window): void {
    this.#answers += 1
    this.#underWay.delete(windowKey(window))
  }

  #nextWithinCaps(): Window | undefined {
    if (this.#pass.over) return undefined
    const window = this.#bisections.next(this.#underWay) ?? this.#nextOfPass()
    if (window === undefined) return window
    const { isBarren } = this.#coverage
    if (!isBarren && this.#budget.allowsOneMore(this.#findings.pageSize)) return window
    const because = isBarren ? 'repeated-page' : 'page-cap'
    this.#passes.stop(because, { window, failure: because })
    this.#conclude()
    return undefined
  }

  #nextOfPass(): Window | undefined {
    let window = this.#pass.next()
    while (window !== undefined && this.#underWay.has(windowKey(window))) window = this.#pass.next()
    return window
  }

  /** False when an answer shows that the service does not serve the page size it is asked for. */
  #agreeOnSize(answer: WindowAnswer): boolean {
    const size = this.#sizes.agreeOn(answer)
    if (size === 'agreed') return true
    if (!this.#sizes.isFixed || (size === 'smaller' && this.#passes.mayRestart)) this.#readSideBySide()
    else this.#passes.stop('size-refused', { window: answer.window, failure: 'page-mismatch' })
    return false
  }

  #refuse(window: Window): void {
    if (window.size < this.#findings.pageSize) {
      return this.#sizes.isFixed ? this.#passes.stop('size-refused') : this.#readSideBySide()
    }
    const smaller = this.#sizes.isKnown ? undefined : sizeAfterRefusal(this.#findings.pageSize)
    if (smaller === undefined) return this.#pass.failed(window, 'size-refused')
    this.#findings.pageSize = smaller
    this.#passes.beginAnew()
  }

  /** Begins again with equal pages, for a service that accepts only some page sizes. */
  #readSideBySide(because: Reason = 'size-refused'): void {
    this.#sizes.isFixed = true
    this.#passes.restart(because)
  }

  #settleBisections(): void {
    for (const { window, end } of this.#bisections.ended()) {
      if (end === 'too-large') this.#findings.shrinkPages(window)
      this.#pass.failed(window, end)
    }
  }

  /** Ends the pass, and the scan where its pass decides it, once nothing is under way. */
  #conclude(): void {
    if (!this.#pass.over || this.#underWay.size > 0) return
    this.#bisections.clear()
    this.#passes.conclude()
  }
}

/** What a scan knows at one moment. */
type Known = {
  readonly passes: Passes
  readonly answers: number
  readonly findings: Findings
  readonly coverage: Coverage
  readonly sizes: PageSizes
  readonly bisections: Bisections
}

/** The certificate of a scan; before it is done: unproven, because interrupted. */
function certificateOf({ passes, findings, coverage, ...known }: Known): Certificate {
  const { proof, reasons, passProof } = passes.verdict ?? interrupted(passes.current)
  return {
    proof,
    basis: passProof?.basis,
    witness: passProof?.witness,
    evidence: passProof?.evidence,
    reasons,
    notes: findings.notes,
    passes: passes.count,
    requests: known.answers,
    distinct: coverage.distinct,
    pageSize: findings.pageSize,
    total: known.sizes.isKnown ? findings.total : undefined,
    stoppedAt: passes.stoppedAt,
    empty: passes.current.complete && coverage.distinct === 0 && coverage.rejected === 0,
    holes: known.bisections.holes,
  }
}

function interrupted({ flaws }: Pass): ScanVerdict {
  return { proof: 'unproven', reasons: ['interrupted', ...flaws] }
}

/** What the next scan of this list should know of its order. */
function orderForNextScan(findings: Findings, { current }: Passes): OrderFacts {
  const nextOrder = { ...findings.nextOrder, overlap: findings.overlap.usual }
  const isWhole = current.complete && current.flaws.size === 0
  return isWhole && mayNeedMemory(findings) ? { ...nextOrder, ...findings.remembered.facts() } : nextOrder
}

/** Where rows are in order of their ids, or of creation times of which few are equal, no memory of the list is needed. */
function mayNeedMemory({ believed, witnesses, pageSize }: Findings): boolean {
  if (believed.length === 0) return true
  return witnesses.onlyTimes && witnesses.longestTie >= pageSize / 2
}

/** How a bisected window ended: unreadable in places, read in smaller parts, or read in parts because it was too large. */
type Bisected = { window: Window; end: 'hole' | 'flaky' | 'too-large' }

const NONE: readonly Bisected[] = []

/** The windows of a scan that are being bisected, and the holes found so far. */
class Bisections {
  readonly #underWay = new Map<Window, Bisection>()
  #holes: Hole[] = []

  /** The holes found so far, joined where they touch, in order of position. */
  get holes(): readonly Hole[] {
    return this.#holes
  }

  begin(window: Window, because: 'hole' | 'too-large'): void {
    this.#underWay.set(window, new Bisection(window, because))
  }

  /** The next window to request that is not in `underWay` already. */
  next(underWay: ReadonlySet<string>): Window | undefined {
    for (const bisection of this.#underWay.values()) {
      let window = bisection.next()
      while (window !== undefined && underWay.has(windowKey(window))) window = bisection.next()
      if (window !== undefined) return window
    }
    return undefined
  }

  /** False when no bisection waits for this window; windows that overlap can both hold a poison row. */
  answered(window: Window, how: 'read' | 'failed'): boolean {
    if (this.#underWay.size === 0) return false
    const waiting = [...this.#underWay.values()].filter((bisection) => bisection.awaits(window))
    for (const bisection of waiting) bisection[how](window)
    return waiting.length > 0
  }

  /** The bisections that have ended since the last call. */
  ended(): readonly Bisected[] {
    if (this.#underWay.size === 0) return NONE
    const ended: Bisected[] = []
    for (const [window, bisection] of this.#underWay) {
      if (!bisection.over) continue
      this.#underWay.delete(window)
      this.#holes = joinHoles([...this.#holes, ...bisection.holes])
      const end = bisection.holes.length > 0 ? 'hole' : bisection.because === 'too-large' ? 'too-large' : 'flaky'
      ended.push({ window, end })
    }
    return ended
  }

  clear(): void {
    this.#underWay.clear()
  }
}
