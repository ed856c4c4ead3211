import type { Certificate, Hole } from './certificate.ts'
import { Findings } from './findings.ts'
import { prepareWindow, type ReadWindow } from './read-window.ts'
import { ClosedPass } from './closed-pass.ts'
import { joinHoles, Bisection } from './bisection.ts'
import type { Pass } from './pass.ts'
import { passCap, USUAL_OVERLAP } from './planner.ts'
import type { Reason } from './reasons.ts'
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
  /** Where the ids read are kept; must be empty, and stays the scan's own. */
  readonly seen?: SeenIds
  /** Windows read before an interruption, in the order of their positions: those that still link are not read again. */
  readonly recalled?: Iterable<WindowAnswer>
}

/** The size tried once when the service refuses the one configured. */
const FALLBACK_SIZE = 50

/** A scan of overlapping windows that says whether they prove that everybody was read (see certificate.ts). */
export function chainScan(options: ChainScanOptions = {}): Scan {
  return new ChainScan(options)
}

class ChainScan implements Scan {
  readonly #findings: Findings
  readonly #caps: ScanCaps
  readonly #coverage: Coverage
  readonly #underWay = new Set<string>()
  readonly #bisections = new Map<Window, Bisection>()
  #holes: Hole[] = []
  #pass: Pass
  #passes = 1
  #answers = 0
  #requests = 0
  /** Requests the pass under way has made, and the total it began with. */
  #asked = 0
  #believed: number | undefined
  #sizeKnown = false
  /** The service takes some page sizes only: equal pages, side by side. */
  #fixedSizes = false
  /** The pass was stopped to begin again in another way. */
  #restarting = false
  /** A pass has come to the end of the list. */
  #reachedEnd = false
  #stoppedAt: StoppedAt | undefined
  #verdict: Verdict | undefined

  constructor({ pageSize = 100, caps = {}, seen = seenIds(), recalled = [] }: ChainScanOptions) {
    this.#findings = new Findings(Math.min(100, Math.max(1, pageSize)))
    this.#caps = { ...USUAL_CAPS, ...caps }
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
      this.#asked += 1
      this.#requests += 1
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
    this.#bisect(answer.window, obeyed ? undefined : 'hole')
    this.#pass.take(answer.window, read)
    if (this.#findings.pageSize < SMALLEST_PAGE && !this.#pass.over && !this.#fixedSizes) {
      this.#beginAgain({ fixedSizes: true, because: 'no-overlap' })
    }
    this.#conclude()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#arrived(window)
    this.#findings.note(failure)
    if (this.#bisect(window, failure)) this.#pass.failed(window, 'flaky')
    else if (failure === 'size-refused') this.#refuse(window)
    else if ((failure === 'hole' || failure === 'too-large') && !this.#pass.over)
      this.#bisections.set(window, new Bisection(window, failure))
    else this.#pass.failed(window, failure)
    this.#settleBisections()
    this.#conclude()
  }

  get done(): boolean {
    return this.#verdict !== undefined
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
      total: this.#sizeKnown ? this.#findings.total : undefined,
      stoppedAt: this.#reachedEnd ? undefined : this.#stoppedAt,
      empty: this.#pass.complete && this.#coverage.distinct === 0 && this.#coverage.rejected === 0,
      holes: this.#holes,
    }
  }

  #recall(answers: Iterable<WindowAnswer>): Pass {
    const pass = new ClosedPass(this.#findings, USUAL_OVERLAP)
    for (const answer of answers) {
      if (pass.over || answer.rows.length === 0 || answer.rows.length > answer.perPage) continue
      if (answer.window.page === 1 && !this.#sizeKnown) this.#agreeOnSize(answer)
      pass.recall(this.#takeIn(answer))
    }
    return pass
  }

  #takeIn(answer: WindowAnswer): ReadWindow {
    const read = prepareWindow(answer, this.#coverage)
    this.#findings.learn(read)
    this.#coverage.add(read)
    this.#believed ??= read.total
    return read
  }

  #arrived(window: Window): void {
    this.#answers += 1
    this.#underWay.delete(windowKey(window))
  }

  #nextWithinCaps(): Window | undefined {
    if (this.#pass.over || this.#verdict !== undefined) return undefined
    const window = this.#nextWindow()
    const mayAsk = this.#asked < passCap(this.#believed ?? 0, this.#findings.pageSize)
    if (window === undefined || (mayAsk && this.#requests < this.#caps.requests)) return window
    this.#stoppedAt = { window, failure: 'page-cap' }
    this.#pass.stop('page-cap')
    this.#conclude()
    return undefined
  }

  #nextWindow(): Window | undefined {
    for (const bisection of this.#bisections.values()) {
      const window = this.#nextOf(bisection)
      if (window !== undefined) return window
    }
    return this.#nextOf(this.#pass)
  }

  #nextOf(asker: Pick<Pass, 'next'>): Window | undefined {
    let window = asker.next()
    while (window !== undefined && this.#underWay.has(windowKey(window))) window = asker.next()
    return window
  }

  /** Adopts the size of the first answer; false when a later one shows that the service does not do as it is asked. */
  #agreeOnSize({ window, perPage }: WindowAnswer): boolean {
    const first = !this.#sizeKnown
    this.#sizeKnown = true
    if (perPage === window.size) return true
    this.#findings.note(first && perPage < window.size ? 'capped-size' : 'size-refused')
    const isSmaller = window.size >= this.#findings.pageSize && perPage < this.#findings.pageSize
    if (window.size >= this.#findings.pageSize) this.#findings.pageSize = Math.max(1, Math.min(perPage, window.size))
    if (first && perPage < window.size) return true
    if (this.#fixedSizes && isSmaller && this.#passes < this.#caps.passes) this.#restarting = true
    else if (this.#fixedSizes) this.#stoppedAt = { window, failure: 'page-mismatch' }
    this.#beginAgain({ fixedSizes: true })
    return false
  }

  #refuse(window: Window): void {
    if (window.size < this.#findings.pageSize) this.#beginAgain({ fixedSizes: true })
    else if (this.#findings.pageSize > FALLBACK_SIZE && !this.#sizeKnown) {
      this.#findings.pageSize = FALLBACK_SIZE
      this.#beginAgain({ fixedSizes: false })
    } else this.#pass.failed(window, 'size-refused')
  }

  #beginAgain({ fixedSizes, because = 'size-refused' }: { fixedSizes: boolean; because?: Reason }): void {
    this.#restarting ||= !this.#fixedSizes
    this.#fixedSizes ||= fixedSizes
    this.#pass.stop(because)
  }

  /** Tells the bisections that wait for this window, if any: windows that overlap can both hold a poison row. */
  #bisect(window: Window, failure: WindowFailure | undefined): boolean {
    if (this.#bisections.size === 0) return false
    const waiting = [...this.#bisections.values()].filter((bisection) => bisection.awaits(window))
    for (const bisection of waiting) {
      if (failure === undefined) bisection.read(window)
      else bisection.failed(window)
    }
    if (failure === undefined) this.#settleBisections()
    return waiting.length > 0
  }

  #settleBisections(): void {
    for (const [window, bisection] of this.#bisections) {
      if (!bisection.over) continue
      this.#bisections.delete(window)
      this.#holes = joinHoles([...this.#holes, ...bisection.holes])
      const wasTooLarge = bisection.holes.length === 0 && bisection.because === 'too-large'
      if (wasTooLarge) this.#findings.shrinkPages(window)
      this.#pass.failed(window, wasTooLarge ? 'too-large' : bisection.holes.length > 0 ? 'hole' : 'flaky')
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
    this.#asked = 0
    this.#believed = this.#sizeKnown ? this.#findings.total : undefined
    this.#coverage.startPass()
    this.#pass = this.#sizeKnown
      ? nextPass(this.#findings, this.#passes, this.#fixedSizes, this.#caps)
      : new ClosedPass(this.#findings, USUAL_OVERLAP)
  }
}
