import { ChainEnds } from '../proof/chain-ends.ts'
import type { ChainProof } from '../proof/chain-proof.ts'
import { type Overlap, overlapBetween, seamBetween } from '../window/overlap.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { endOf, type Window, startOf } from '../window/window.ts'
import type { ChainPlan } from './chain-plan.ts'
import type { Findings } from '../findings.ts'
import { LookBehind } from './look-behind.ts'
import type { PendingWindow } from '../plan/pending-windows.ts'
import type { Reason } from '../reasons.ts'

/** Where a chain ends so far, and what was seen behind that. */
export class ChainTail {
  readonly #findings: Findings
  readonly #plan: ChainPlan
  readonly #chain: ChainProof
  /** The last window of the chain; undefined at the start and after positions that were not read. */
  last: ReadWindow | undefined
  /** The position after it, or after those. */
  reach = 0
  readonly ends = new ChainEnds()
  readonly unread: Unread
  readonly behind: LookBehind

  constructor(findings: Findings, plan: ChainPlan, chain: ChainProof) {
    this.#findings = findings
    this.#plan = plan
    this.#chain = chain
    this.unread = new Unread(findings)
    this.behind = new LookBehind(findings, plan)
  }

  /** The chain goes on with this window, or begins with it. */
  link(read: ReadWindow, compared?: Overlap): void {
    const left = this.last
    if (left === undefined) this.#chain.begin()
    else {
      const overlap = compared ?? overlapBetween(left, read)
      this.#chain.link(overlap, { left, read, seam: seamBetween(left, read) })
      this.#findings.overlap.linked(overlap)
    }
    this.#plan.pending.removeUpTo(read.reach)
    this.ends.extend(this.last, read)
    this.last = read
    this.reach = read.reach
    this.unread.clear()
    this.behind.clear()
  }

  /** A chain begins anew behind this window. */
  cutAt(window: Window): void {
    this.#chain.cut()
    this.#plan.pending.removeUpTo(endOf(window))
    this.last = undefined
    this.reach = Math.max(this.reach, endOf(window))
  }

  /** The same, where what stands behind the window shows whether the list has ended. */
  lookBehind(window: Window): void {
    const { last } = this
    this.cutAt(window)
    this.behind.begin(window, last)
  }
}

/** Windows left unread until the list has most likely ended. */
const FEW = 2

/** The windows left unread since the last one of the chain. */
class Unread {
  readonly #findings: Findings
  count = 0
  /** A window without rows although the chain has rows there: then the list has not ended there. */
  #emptied: Window | undefined

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** `chainEnds` is the position after the last row of the chain; 0 where it was cut. */
  add({ window, read }: PendingWindow, { chainEnds }: { chainEnds: number }): void {
    this.count += 1
    if (read?.all.length === 0 && startOf(window) < chainEnds) this.#emptied = window
  }

  /** The window that shows that the list has not ended: empty where the chain has rows, and the total still promises some. */
  get emptied(): Window | undefined {
    return this.#emptied && startOf(this.#emptied) < this.#findings.total ? this.#emptied : undefined
  }

  /** Whether so many windows without a row have most likely ended the list. Without a total this holds for errors too. */
  isLikelyEnd(reason: Reason): boolean {
    return this.count > FEW && (reason === 'short-page' || (reason === 'hole' && this.#findings.total === 0))
  }

  /** The chain goes on. */
  clear(): void {
    this.count = 0
    this.#emptied = undefined
  }
}
