import type { Certificate, Hole } from './certificate.ts'
import { Facts } from './facts.ts'
import { hold, type Held } from './held.ts'
import { ClosedPass } from './closed-pass.ts'
import { joinHoles, Narrowing } from './narrowing.ts'
import type { Pass } from './pass.ts'
import { passCap, USUAL_OVERLAP } from './planner.ts'
import type { Reason } from './reasons.ts'
import { type Scan, type ScanCaps, USUAL_CAPS } from './scan.ts'
import { type SeenIds, seenIds } from './seen.ts'
import { Tally } from './tally.ts'
import { nextPass, type Verdict, verdictOn } from './verdict.ts'
import { SMALLEST_PAGE } from './witness.ts'
import { type StoppedAt, windowKey, type Window, type WindowFailure, type WindowRead } from './window.ts'

export type ChainScanOptions = {
  /** Rows to ask for at once, 1 to 100 (default). */
  readonly pageSize?: number
  readonly caps?: Partial<ScanCaps>
  /** Where the ids read are kept; must be empty, and stays the scan's own. */
  readonly seen?: SeenIds
  /** Windows read before an interruption, in the order of their positions: those that still link are not read again. */
  readonly recalled?: Iterable<WindowRead>
}

/** The size tried once when the service refuses the one configured. */
const FALLBACK_SIZE = 50

/** A scan of overlapping windows that says whether they prove that everybody was read (see certificate.ts). */
export function chainScan(options: ChainScanOptions = {}): Scan {
  return new ChainScan(options)
}

class ChainScan implements Scan {
  readonly #facts: Facts
  readonly #caps: ScanCaps
  readonly #tally: Tally
  readonly #underWay = new Set<string>()
  readonly #narrowings = new Map<Window, Narrowing>()
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
    this.#facts = new Facts(Math.min(100, Math.max(1, pageSize)))
    this.#caps = { ...USUAL_CAPS, ...caps }
    this.#tally = new Tally(seen)
    this.#tally.startPass()
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

  read(read: WindowRead): void {
    if (read.rows.length > read.perPage) return this.failed(read.window, 'page-mismatch')
    this.#arrived(read.window)
    const obeyed = this.#agreeOnSize(read)
    const held = this.#takeIn(read)
    this.#narrow(read.window, obeyed ? undefined : 'hole')
    this.#pass.take(read.window, held)
    if (this.#facts.pageSize < SMALLEST_PAGE && !this.#pass.over && !this.#fixedSizes) {
      this.#beginAgain({ fixedSizes: true, because: 'no-overlap' })
    }
    this.#conclude()
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#arrived(window)
    this.#facts.note(failure)
    if (this.#narrow(window, failure)) this.#pass.failed(window, 'flaky')
    else if (failure === 'size-refused') this.#refuse(window)
    else if ((failure === 'hole' || failure === 'too-large') && !this.#pass.over)
      this.#narrowings.set(window, new Narrowing(window, failure))
    else this.#pass.failed(window, failure)
    this.#settleNarrowings()
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
      notes: this.#facts.notes,
      passes: this.#passes,
      requests: this.#answers,
      distinct: this.#tally.distinct,
      total: this.#sizeKnown ? this.#facts.total : undefined,
      stoppedAt: this.#reachedEnd ? undefined : this.#stoppedAt,
      empty: this.#pass.complete && this.#tally.distinct === 0 && this.#tally.rejected === 0,
      holes: this.#holes,
    }
  }

  #recall(reads: Iterable<WindowRead>): Pass {
    const pass = new ClosedPass(this.#facts, USUAL_OVERLAP)
    for (const read of reads) {
      if (pass.over || read.rows.length === 0 || read.rows.length > read.perPage) continue
      if (read.window.page === 1 && !this.#sizeKnown) this.#agreeOnSize(read)
      pass.recall(this.#takeIn(read))
    }
    return pass
  }

  #takeIn(read: WindowRead): Held {
    const held = hold(read, this.#tally)
    this.#facts.learn(held)
    this.#tally.add(held)
    this.#believed ??= held.total
    return held
  }

  #arrived(window: Window): void {
    this.#answers += 1
    this.#underWay.delete(windowKey(window))
  }

  #nextWithinCaps(): Window | undefined {
    if (this.#pass.over || this.#verdict !== undefined) return undefined
    const window = this.#nextWindow()
    const mayAsk = this.#asked < passCap(this.#believed ?? 0, this.#facts.pageSize)
    if (window === undefined || (mayAsk && this.#requests < this.#caps.requests)) return window
    this.#stoppedAt = { window, failure: 'page-cap' }
    this.#pass.stop('page-cap')
    this.#conclude()
    return undefined
  }

  #nextWindow(): Window | undefined {
    for (const narrowing of this.#narrowings.values()) {
      const window = this.#nextOf(narrowing)
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
  #agreeOnSize({ window, perPage }: WindowRead): boolean {
    const first = !this.#sizeKnown
    this.#sizeKnown = true
    if (perPage === window.size) return true
    this.#facts.note(first && perPage < window.size ? 'capped-size' : 'size-refused')
    const isSmaller = window.size >= this.#facts.pageSize && perPage < this.#facts.pageSize
    if (window.size >= this.#facts.pageSize) this.#facts.pageSize = Math.max(1, Math.min(perPage, window.size))
    if (first && perPage < window.size) return true
    if (this.#fixedSizes && isSmaller && this.#passes < this.#caps.passes) this.#restarting = true
    else if (this.#fixedSizes) this.#stoppedAt = { window, failure: 'page-mismatch' }
    this.#beginAgain({ fixedSizes: true })
    return false
  }

  #refuse(window: Window): void {
    if (window.size < this.#facts.pageSize) this.#beginAgain({ fixedSizes: true })
    else if (this.#facts.pageSize > FALLBACK_SIZE && !this.#sizeKnown) {
      this.#facts.pageSize = FALLBACK_SIZE
      this.#beginAgain({ fixedSizes: false })
    } else this.#pass.failed(window, 'size-refused')
  }

  #beginAgain({ fixedSizes, because = 'size-refused' }: { fixedSizes: boolean; because?: Reason }): void {
    this.#restarting ||= !this.#fixedSizes
    this.#fixedSizes ||= fixedSizes
    this.#pass.stop(because)
  }

  /** Tells the narrowings that wait for this window, if any: windows that overlap can both hold a poison row. */
  #narrow(window: Window, failure: WindowFailure | undefined): boolean {
    if (this.#narrowings.size === 0) return false
    const waiting = [...this.#narrowings.values()].filter((narrowing) => narrowing.awaits(window))
    for (const narrowing of waiting) {
      if (failure === undefined) narrowing.read(window)
      else narrowing.failed(window)
    }
    if (failure === undefined) this.#settleNarrowings()
    return waiting.length > 0
  }

  #settleNarrowings(): void {
    for (const [window, narrowing] of this.#narrowings) {
      if (!narrowing.over) continue
      this.#narrowings.delete(window)
      this.#holes = joinHoles([...this.#holes, ...narrowing.holes])
      const wasTooLarge = narrowing.holes.length === 0 && narrowing.because === 'too-large'
      if (wasTooLarge) this.#facts.shrinkPages(window)
      this.#pass.failed(window, wasTooLarge ? 'too-large' : narrowing.holes.length > 0 ? 'hole' : 'flaky')
    }
  }

  /** Ends the pass, and the scan where its pass decides it, once nothing is under way. */
  #conclude(): void {
    if (!this.#pass.over || this.#underWay.size > 0 || this.#verdict !== undefined) return
    this.#narrowings.clear()
    this.#reachedEnd ||= this.#pass.complete
    this.#stoppedAt = this.#pass.stoppedAt ?? this.#stoppedAt
    const verdict = verdictOn(this.#pass, this.#passes, this.#tally, this.#facts, this.#caps)
    if (!this.#restarting) this.#verdict = verdict
    if (this.#verdict !== undefined) return
    this.#restarting = false
    this.#stoppedAt = undefined
    this.#passes += 1
    this.#asked = 0
    this.#believed = this.#sizeKnown ? this.#facts.total : undefined
    this.#tally.startPass()
    this.#pass = this.#sizeKnown
      ? nextPass(this.#facts, this.#passes, this.#fixedSizes, this.#caps)
      : new ClosedPass(this.#facts, USUAL_OVERLAP)
  }
}
