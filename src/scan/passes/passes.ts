import { ClosedPass } from './closed-pass.ts'
import type { Coverage } from '../coverage.ts'
import type { Findings } from '../findings.ts'
import type { PageSizes } from '../plan/page-sizes.ts'
import type { Pass } from '../pass.ts'
import { USUAL_OVERLAP, equalPlan, overlappingPlan, passCap } from '../plan/planner.ts'
import type { Reason } from '../reasons.ts'
import type { RequestBudget } from '../plan/request-budget.ts'
import type { ScanCaps } from '../scan.ts'
import { type Settling, settlingAfter, type ScanVerdict, verdictOn } from './verdict.ts'
import type { StoppedAt } from '../window/window.ts'
import { SweepPass } from './sweep-pass.ts'

/** What all passes of a scan share. */
type Shared = {
  readonly findings: Findings
  readonly sizes: PageSizes
  readonly coverage: Coverage
  readonly budget: RequestBudget
  readonly caps: ScanCaps
}

/** The passes of a scan, one after another, until there is a verdict. */
export class Passes {
  readonly #shared: Shared
  #current: Pass
  #count = 1
  /** The pass was stopped in order to begin another kind of pass. */
  #restarting = false
  #settling: Settling = 'open'
  /** A pass has come to the end of the list. */
  #reachedEnd = false
  #stoppedAt: StoppedAt | undefined
  #verdict: ScanVerdict | undefined

  /** `first` is the first pass, which may have recalled windows already. */
  constructor(shared: Shared, first: Pass) {
    this.#shared = shared
    this.#current = first
  }

  /** The pass under way, or the last one. */
  get current(): Pass {
    return this.#current
  }

  get count(): number {
    return this.#count
  }

  get verdict(): ScanVerdict | undefined {
    return this.#verdict
  }

  /** The window that could not be read, so that no pass came to the end of the list. */
  get stoppedAt(): StoppedAt | undefined {
    return this.#reachedEnd ? undefined : this.#stoppedAt
  }

  get mayRestart(): boolean {
    return this.#count < this.#shared.caps.passes
  }

  /** The pass ends where it is, and another begins, of the kind that the page sizes now ask for. */
  restart(because: Reason): void {
    this.#restarting = true
    this.#current.stop(because)
  }

  stop(because: Reason, at?: StoppedAt): void {
    this.#stoppedAt = at ?? this.#stoppedAt
    this.#current.stop(because)
  }

  /** Begins the first pass again: nothing was read in it yet. */
  beginAnew(): void {
    this.#current = new ClosedPass(this.#shared.findings, USUAL_OVERLAP)
  }

  /** The pass is over and nothing is under way: finds a verdict, or begins the next pass. */
  conclude(): void {
    const { findings, coverage, caps } = this.#shared
    this.#reachedEnd ||= this.#current.complete
    this.#stoppedAt = this.#current.stoppedAt ?? this.#stoppedAt
    this.#settling = settlingAfter(this.#current, this.#settling, { coverage, findings })
    const scanned = { passes: this.#count, settling: this.#settling, coverage, findings, caps }
    const verdict = verdictOn(this.#current, scanned)
    if (!this.#restarting) this.#verdict = verdict
    if (this.#verdict === undefined) this.#beginNext()
  }

  #beginNext(): void {
    const { findings, sizes, coverage, budget, caps } = this.#shared
    this.#restarting = false
    this.#stoppedAt = undefined
    this.#count += 1
    budget.startPass(sizes.isKnown && findings.total > 0 ? findings.total : undefined)
    coverage.startPass()
    if (sizes.isKnown) this.#current = nextPass(findings, this.#count, sizes.isFixed, caps)
    else this.beginAnew()
  }
}

/** The fewest rows to share after a pass that failed although an order vouches for the list. */
const WIDER_OVERLAP = 8

/**
 * How to read the list again: forward with more overlap if an order vouches for it, otherwise in alternating directions, so that
 * a row that moves ahead of one pass is met by the next.
 */
function nextPass(findings: Findings, pass: number, fixedSizes: boolean, caps: ScanCaps): Pass {
  const { pageSize, total } = findings
  // A total is believed only as far as the scan may ask: a plan for a billion rows would not fit into memory.
  const cap = Math.min(passCap(total, pageSize), caps.requests)
  const backward = pass % 2 === 0
  if (fixedSizes) return new SweepPass(findings, equalPlan(total, pageSize, cap), { backward, overlapping: false })
  const vouched = findings.believed.length > 0
  const wider = Math.min(Math.floor(pageSize / 2), Math.max(WIDER_OVERLAP, findings.witnesses.longestTie + 1))
  if (!backward || (vouched && pass === 2)) return new ClosedPass(findings, vouched ? wider : USUAL_OVERLAP)
  return new SweepPass(findings, overlappingPlan(total, USUAL_OVERLAP, pageSize, cap), { backward, overlapping: true })
}
