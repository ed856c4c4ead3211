import type { PassProof } from './certificate.ts'
import { Closing } from './closing.ts'
import type { Findings } from './findings.ts'
import type { ReadWindow } from './read-window.ts'
import { LinkedPass } from './linked-pass.ts'
import type { Pass, PassFailure } from './pass.ts'
import type { Reason } from './reasons.ts'
import { Recount } from './recount.ts'
import type { TieRegion } from './tie-region.ts'
import type { Seams } from './seams.ts'
import type { StoppedAt, Window } from './window.ts'

/** A linked pass that reads both ends of the list again before it trusts a witness. */
export class ClosedPass implements Pass {
  readonly #findings: Findings
  readonly #linked: LinkedPass
  /** What is left to count, and the count under way. */
  #toCount: TieRegion[] | undefined
  #recount: Recount | undefined
  #closing: Closing | undefined
  over = false

  constructor(findings: Findings, overlap: number) {
    this.#findings = findings
    this.#linked = new LinkedPass(findings, overlap)
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

  get seams(): Seams {
    return this.#linked.seams
  }

  get settles(): boolean {
    return this.#linked.settles
  }

  proof(): PassProof | undefined {
    return this.#linked.proof()
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

  get #reader(): LinkedPass | Recount | Closing {
    return this.#closing ?? this.#recount ?? this.#linked
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
    if (!this.#linked.over || this.over || this.#isCounting()) return
    if (this.#closing === undefined && needsClosing(this.proof())) {
      this.#closing = new Closing(this.#findings, this.#linked.ends)
    }
    for (const flaw of this.#closing?.flaws ?? []) this.#linked.flaws.add(flaw)
    this.over = this.#closing?.over ?? true
  }
}

/** What rests on an order is proven only once both ends were read again: rows that changed may have moved there. */
function needsClosing(proof: PassProof | undefined): boolean {
  return proof?.basis === 'witness' || proof?.basis === 'remembered order'
}
