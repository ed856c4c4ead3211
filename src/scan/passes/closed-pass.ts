import type { PassProof } from '../certificate.ts'
import { Closing } from './closing.ts'
import type { Findings } from '../findings.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { LinkedPass } from '../forward/linked-pass.ts'
import type { ChainedPass, Pass, PassFailure } from '../pass.ts'
import type { Reason } from '../reasons.ts'
import { Recount } from './recount.ts'
import type { TieRegion } from '../proof/tie-region.ts'
import { UpwardPass } from '../upward/upward-pass.ts'
import type { StoppedAt, Window } from '../window/window.ts'

/**
 * A linked pass that reads both ends of the list again before it trusts a witness. If no order vouches for the list, and rows
 * moved, it reads the top again: in a list by last change, rows that changed meanwhile went there.
 */
export class ClosedPass implements Pass {
  readonly #findings: Findings
  readonly #linked: ChainedPass
  readonly #readsTopLast: boolean
  /** What is left to count, and the count under way. */
  #toCount: TieRegion[] | undefined
  #recount: Recount | undefined
  #closing: Closing | undefined
  #rise: UpwardPass | undefined
  over = false

  constructor(findings: Findings, overlap: number, upward?: UpwardPass) {
    this.#findings = findings
    this.#linked = upward ?? new LinkedPass(findings, overlap)
    this.#readsTopLast = upward !== undefined
  }

  get complete(): boolean {
    return this.#linked.complete
  }

  get stoppedAt(): StoppedAt | undefined {
    return this.#linked.stoppedAt
  }

  get flaws(): ReadonlySet<Reason> {
    return this.#linked.flaws
  }

  get obstacles(): readonly Reason[] {
    return this.#linked.obstacles
  }

  get seams(): Pass['seams'] {
    return this.#linked.seams
  }

  get settles(): boolean {
    return this.#linked.settles
  }

  get settledBy(): PassProof | undefined {
    return (this.#rise ?? this.#linked).settledBy
  }

  proof(): PassProof | undefined {
    // What is read once the pass was found unproven makes it no proof.
    return this.#rise === undefined ? this.#linked.proof() : undefined
  }

  next(): Window | undefined {
    return this.over ? undefined : this.#reader.next()
  }

  take(asked: Window, read: ReadWindow): void {
    this.#reader.take(asked, read)
    this.#settle()
  }

  failed(window: Window, failure: PassFailure): void {
    this.#reader.failed(window, failure)
    this.#settle()
  }

  /** A window read before an interruption. Call in order of position, before anything else. */
  recall(read: ReadWindow): void {
    this.#linked.recall(read)
    this.#settle()
  }

  stop(reason: Reason): void {
    this.#linked.stop(reason)
    this.over = true
  }

  get #reader(): Pick<Pass, 'next' | 'take' | 'failed' | 'over'> {
    return this.#rise ?? this.#closing ?? this.#recount ?? this.#linked
  }

  /** Begins the next count where the one before ended well; false once nothing is left to count. */
  #isCounting(): boolean {
    this.#toCount ??= [...this.#linked.toCount()]
    while (this.#recount?.over !== false) {
      const region = this.#toCount.shift()
      if (region === undefined) return false
      this.#recount = new Recount(region, this.#findings)
    }
    return true
  }

  #settle(): void {
    // Answers that arrive after a stop change nothing.
    if (!this.#reader.over || this.over || this.#isCounting()) return
    if (this.#closing === undefined && this.#rise === undefined && needsClosing(this.proof())) {
      this.#closing = new Closing(this.#findings, this.#linked.ends)
      if (!this.#closing.over) return
    }
    if (this.#rise === undefined) this.#readTopAgain()
    this.over = this.#reader.over
  }

  #readTopAgain(): void {
    const { settles, flaws, ends } = this.#linked
    const mayRise = settles && !this.#readsTopLast && this.#findings.noted('duplicate-id') === 0
    for (const flaw of this.#closing?.flaws ?? []) flaws.add(flaw)
    const [first] = ends.first
    if (mayRise && first !== undefined && this.proof() === undefined) this.#rise = new UpwardPass(this.#findings, first)
  }
}

/** What rests on an order is proven only once both ends were read again: rows that changed may have moved there. */
function needsClosing(proof: PassProof | undefined): boolean {
  return proof?.basis === 'witness' || proof?.basis === 'counted' || proof?.basis === 'remembered order'
}
