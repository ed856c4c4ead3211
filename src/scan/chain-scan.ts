import type { OrderFacts } from '../order-facts.ts'
import type { Certificate } from './certificate.ts'
import { Findings } from './findings.ts'
import { prepareWindow, type ReadWindow } from './read-window.ts'
import { ClosedPass } from './closed-pass.ts'
import { Bisections } from './bisections.ts'
import type { Pass } from './pass.ts'
import { PageSizes, sizeAfterRefusal } from './page-sizes.ts'
import { USUAL_OVERLAP } from './planner.ts'
import type { Reason } from './reasons.ts'
import { RequestBudget } from './request-budget.ts'
import { type Scan, type ScanCaps, USUAL_CAPS } from './scan.ts'
import { type SeenIds, seenIds } from './seen.ts'
import { Coverage } from './coverage.ts'
import { nextPass, type Verdict, verdictOn } from './verdict.ts'
import { SMALLEST_PAGE } from './witness.ts'
import { type StoppedAt, windowKey, type Window, type WindowFailure, type WindowAnswer } from './window.ts'

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
 *               └── no verdict yet, or #restarting: ───┤ nothing is under way
 *                   the next pass                      │
 *                                                      └── a verdict ──▶ done
 *
 *   reading: #pass.over is false      draining: #pass.over is true      done: #verdict is known
 *
 * The page sizes go their own way over all passes: unknown ──▶ agreed ──▶ fixed (page-sizes.ts).
 */
class ChainScan implements Scan {
  readonly #findings: Findings
  readonly #caps: ScanCaps
  readonly #coverage: Coverage
  readonly #underWay = new Set<string>()
  readonly #bisections = new Bisections()
  readonly #budget: RequestBudget
  readonly #sizes: PageSizes
  #pass: Pass
  #passes = 1
  #answers = 0
  /** The pass was stopped in order to begin another kind of pass. */
  #restarting = false
  /** A pass has come to the end of the list. */
  #reachedEnd = false
  #stoppedAt: StoppedAt | undefined
  #verdict: Verdict | undefined

  constructor({ pageSize = 100, caps = {}, seen = seenIds(), recalled = [], order }: ChainScanOptions) {
    this.#findings = new Findings(Math.min(100, Math.max(1, pageSize)), order)
    this.#sizes = new PageSizes(this.#findings)
    this.#caps = { ...USUAL_CAPS, ...caps }
    this.#budget = new RequestBudget(this.#caps.requests)
    this.#coverage = new Coverage(seen)
    this.#coverage.startPass()
    this.#pass = this.#recall(recalled)
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
    else if ((failure === 'hole' || failure === 'too-large') && !this.#pass.over)
      this.#bisections.begin(window, failure)
    else this.#pass.failed(window, failure)
    this.#settleBisections()
    this.#conclude()
  }

  get done(): boolean {
    return this.#verdict !== undefined
  }

  get order(): OrderFacts {
    return this.#findings.nextOrder
  }

  certificate(): Certificate {
    const verdict = this.#verdict ?? {
      proof: 'unproven',
      reasons: ['interrupted', ...this.#pass.flaws],
      passProof: undefined,
    }
    return {
      proof: verdict.proof,
      basis: verdict.passProof?.basis,
      witness: verdict.passProof?.witness,
      reasons: verdict.reasons,
      notes: this.#findings.notes,
      passes: this.#passes,
      requests: this.#answers,
      distinct: this.#coverage.distinct,
      pageSize: this.#findings.pageSize,
      total: this.#sizes.isKnown ? this.#findings.total : undefined,
      stoppedAt: this.#reachedEnd ? undefined : this.#stoppedAt,
      empty: this.#pass.complete && this.#coverage.distinct === 0 && this.#coverage.rejected === 0,
      holes: this.#bisections.holes,
    }
  }

  #recall(answers: Iterable<WindowAnswer>): Pass {
    const pass = new ClosedPass(this.#findings, USUAL_OVERLAP)
    let largest = 0
    for (const answer of answers) {
      if (pass.over || answer.rows.length === 0 || answer.rows.length > answer.perPage) continue
      if (answer.window.page === 1 && !this.#sizes.isKnown) this.#agreeOnSize(answer)
      largest = Math.max(largest, answer.perPage)
      pass.recall(this.#takeIn(answer))
    }
    // Larger pages may have been refused.
    if (largest > 0) this.#findings.pageSize = Math.min(this.#findings.pageSize, largest)
    return pass
  }

  #takeIn(answer: WindowAnswer): ReadWindow {
    const read = prepareWindow(answer, this.#coverage)
    this.#findings.learn(read)
    this.#coverage.add(read)
    this.#budget.answered(read.total)
    return read
  }

  #arrived(window: Window): void {
    this.#answers += 1
    this.#underWay.delete(windowKey(window))
  }

  #nextWithinCaps(): Window | undefined {
    if (this.#pass.over || this.#verdict !== undefined) return undefined
    const window = this.#bisections.next(this.#underWay) ?? this.#nextOfPass()
    if (window === undefined || this.#budget.allowsOneMore(this.#findings.pageSize)) return window
    this.#stoppedAt = { window, failure: 'page-cap' }
    this.#pass.stop('page-cap')
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
    if (this.#sizes.isFixed && size === 'smaller' && this.#passes < this.#caps.passes) this.#restarting = true
    else if (this.#sizes.isFixed) this.#stoppedAt = { window: answer.window, failure: 'page-mismatch' }
    this.#readSideBySide()
    return false
  }

  #refuse(window: Window): void {
    if (window.size < this.#findings.pageSize) return this.#readSideBySide()
    const smaller = this.#sizes.isKnown ? undefined : sizeAfterRefusal(this.#findings.pageSize)
    if (smaller === undefined) return this.#pass.failed(window, 'size-refused')
    this.#findings.pageSize = smaller
    // Nothing was read yet, so this is still the first pass.
    this.#pass = new ClosedPass(this.#findings, USUAL_OVERLAP)
  }

  /** Begins again with equal pages, for a service that accepts only some page sizes. */
  #readSideBySide(because: Reason = 'size-refused'): void {
    this.#restarting ||= !this.#sizes.isFixed
    this.#sizes.isFixed = true
    this.#pass.stop(because)
  }

  #settleBisections(): void {
    for (const { window, end } of this.#bisections.ended()) {
      if (end === 'too-large') this.#findings.shrinkPages(window)
      this.#pass.failed(window, end)
    }
  }

  /** Ends the pass, and the scan where its pass decides it, once nothing is under way. */
  #conclude(): void {
    if (!this.#pass.over || this.#underWay.size > 0 || this.#verdict !== undefined) return
    this.#bisections.clear()
    this.#reachedEnd ||= this.#pass.complete
    this.#stoppedAt = this.#pass.stoppedAt ?? this.#stoppedAt
    const verdict = verdictOn(this.#pass, this.#passes, this.#coverage, this.#findings, this.#caps)
    if (!this.#restarting) this.#verdict = verdict
    if (this.#verdict !== undefined) return
    this.#restarting = false
    this.#stoppedAt = undefined
    this.#passes += 1
    this.#budget.startPass(this.#sizes.isKnown ? this.#findings.total : undefined)
    this.#coverage.startPass()
    this.#pass = this.#sizes.isKnown
      ? nextPass(this.#findings, this.#passes, this.#sizes.isFixed, this.#caps)
      : new ClosedPass(this.#findings, USUAL_OVERLAP)
  }
}
