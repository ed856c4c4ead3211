import type { PassProof } from '../certificate.ts'
import type { ChainEnds } from '../proof/chain-ends.ts'
import { ChainPlan } from './chain-plan.ts'
import { ChainTail } from './chain-tail.ts'
import type { Findings } from '../findings.ts'
import { doubtOf, isBeyondEnd, isDoubtful, isEnd, type ReadWindow, isBlank } from '../window/read-window.ts'
import { ChainProof } from '../proof/chain-proof.ts'
import { LinkRepair } from './link-repair.ts'
import { holds } from './repair.ts'
import type { Pass, PassFailure } from '../pass.ts'
import type { Reason } from '../reasons.ts'
import { type Overlap, overlapBetween, repeats } from '../window/overlap.ts'
import type { PendingWindow } from '../plan/pending-windows.ts'
import type { Seams } from '../proof/seams.ts'
import type { TieRegion } from '../proof/tie-region.ts'
import { startOf, type StoppedAt, type Window } from '../window/window.ts'

/** Tries of a window whose rows moved so far that it is probably another page; windows left unread until the list has ended. */
const FEW_TRIES = 2

/**
 * Reads the list forward as a chain of overlapping windows. Windows are asked for ahead and may arrive in any order; each
 * is settled when it is the nearest to the end of the chain.
 *
 *   start ──┐ a window links           the nearest window fails, is doubtful, or does not link (from start and cut too)
 *   cut ────┴────────────────▶ linked ──────────────────────────────────────▶ repairing: it is asked for again, or another
 *    ▲                            ▲                                           │       │  in its place, or one further back
 *    │                            └─────────────── a window links ────────────┘       │
 *    └──────────────────── its positions stay unread, which is a flaw ────────────────┘
 *
 *   linked ── the window holds the end of the list ──▶ complete
 *   cut ── the list ends here, or so it seems after several windows without a row ──▶ complete
 *   any of them ── refused, not found, or another page at every attempt ──▶ stopped, with a flaw
 *
 *   start, cut: #end.last is unknown      repairing: #repair has made attempts      complete, stopped: over
 */
export class LinkedPass implements Pass {
  readonly #findings: Findings
  readonly #chain: ChainProof
  readonly flaws = new Set<Reason>()
  readonly #plan: ChainPlan
  readonly #repair: LinkRepair
  readonly #end: ChainTail
  over = false
  complete = false
  stoppedAt: StoppedAt | undefined

  constructor(findings: Findings, overlap: number) {
    this.#findings = findings
    this.#chain = new ChainProof(findings)
    this.#plan = new ChainPlan(findings, overlap, this.flaws)
    this.#repair = new LinkRepair(findings, this.#plan)
    this.#end = new ChainTail(findings, this.#plan, this.#chain)
  }

  get ends(): ChainEnds {
    return this.#end.ends
  }

  get obstacles(): readonly Reason[] {
    return this.#chain.obstacles
  }

  get seams(): Seams {
    return this.#chain.seams
  }

  get settles(): boolean {
    const isWhole = this.complete && [...this.flaws].every((flaw) => flaw === 'not-quiet')
    return isWhole && this.#chain.settles
  }

  /** Parts of the list that must be counted before the pass proves anything. */
  toCount(): readonly TieRegion[] {
    return this.complete && this.flaws.size === 0 ? this.#chain.toCount() : []
  }

  proof(): PassProof | undefined {
    return this.complete && this.flaws.size === 0 ? this.#chain.proof() : undefined
  }

  next(): Window | undefined {
    const { isLookingBack, attempts } = this.#repair
    const ahead = { isLookingBack, isRepairing: attempts > 0 }
    const pending = this.#plan.pending.notAsked() ?? this.#plan.goOn(this.#end.reach, ahead)
    if (pending === undefined) return undefined
    pending.asked = true
    return pending.window
  }

  take(asked: Window, read: ReadWindow): void {
    const pending = this.#plan.pending.waitingFor(asked)
    if (pending === undefined) return
    pending.asked = true
    pending.read = read
    this.#settle()
  }

  failed(window: Window, failure: PassFailure): void {
    const pending = this.#plan.pending.waitingFor(window)
    if (pending === undefined) return
    pending.failure = failure
    this.#settle()
  }

  /** A window read before an interruption. To be given in the order of their positions, before anything else. */
  recall(read: ReadWindow): void {
    const isFirst = this.#end.reach === 0 && read.start === 0
    const pending = isFirst ? this.#plan.pending.nearest : this.#plan.pending.placeFor(read.window)
    if (pending === undefined) return
    pending.asked = true
    pending.read = read
    this.#settle()
  }

  stop(reason: Reason): void {
    this.flaws.add(reason)
    this.over = true
  }

  #settle(): void {
    while (!this.over) {
      const pending = this.#plan.pending.nearest
      if (pending?.failure !== undefined) this.#settleFailure(pending, pending.failure)
      else if (pending?.read !== undefined) this.#settleRead(pending, pending.read)
      else return
    }
  }

  #settleFailure(pending: PendingWindow, failure: PassFailure): void {
    if (this.#end.behind.isEndedBy(failure)) return this.#conclude()
    if (failure === 'size-refused') return this.#stopAt(pending.window, failure)
    if (failure === 'hole') return this.#skip(pending, failure)
    if (failure === 'cached-answer' || failure === 'too-large') return this.#askOtherwise(pending, failure)
    if (this.#end.reach > 0 && startOf(pending.window) >= this.#findings.total) return this.#stepBack(pending)
    this.#tryAgain(pending, failure === 'flaky' ? 'hole' : failure)
  }

  #settleRead(pending: PendingWindow, read: ReadWindow): void {
    if (isBeyondEnd(read) && this.#end.reach > 0) return this.#stepBack(pending)
    if (read.notFound && this.#end.reach > 0) return this.#settleNotFound(pending)
    if (this.#end.behind.repeatsLast(read))
      return this.#end.behind.isSure ? this.#conclude() : this.#lookBehind(pending)
    if (this.#end.behind.readsGap(read, this.#end.reach)) return
    if (isDoubtful(read)) return this.#tryAgain(pending, doubtOf(read))
    const left = this.#end.last
    if (left === undefined) return this.#link(pending, read)
    const overlap = overlapBetween(left, read)
    const isDisplaced = overlap.displaced && !this.#chain.mayShuffle(left)
    const isMisplaced = repeats(left, read) || (isDisplaced && this.#repair.attempts < FEW_TRIES)
    if (isMisplaced) return this.#tryAgain(pending, 'repeated-page')
    const isLinked = holds({ overlap, left, stepsBack: this.#repair.stepsBack }, this.#chain, this.#findings)
    if (isLinked || this.#plan.adjoins(left, read)) return this.#link(pending, read, overlap)
    if (overlap.shared === 0) this.#findings.note('link-broken')
    this.#chain.seams.missed(overlap)
    const refusedAt = this.#repair.bridge(left, pending, read)
    if (refusedAt !== undefined) this.#stopAt(refusedAt.window, refusedAt.failure)
  }

  #link(pending: PendingWindow, read: ReadWindow, overlap?: Overlap): void {
    this.#plan.pending.remove(pending)
    this.#end.link(read, overlap)
    this.#repair.linked(read.reach)
    if (isEnd(read)) this.#conclude()
  }

  /** The list ended before this window; where the chain has not ended, the list has become shorter. */
  #stepBack(pending: PendingWindow): void {
    this.#plan.pending.remove(pending)
    if (!this.#plan.pending.empty) return
    const { last } = this.#end
    if (last !== undefined && this.flaws.size > 0 && this.#findings.total === 0) return this.#lookBehind(pending)
    if (last === undefined || this.flaws.size > 0) return this.#endHere()
    this.#repair.stepBack(last, pending.window)
  }

  #settleNotFound(pending: PendingWindow): void {
    if (startOf(pending.window) >= this.#findings.total) return this.#stepBack(pending)
    if (!this.#repair.hasLookedBack && this.#repair.attempts < FEW_TRIES) return this.#tryAgain(pending, 'short-page')
    if (!this.#repair.lookBack(pending, 'not-found', this.#end)) this.#stopAt(pending.window, 'not-found')
  }

  /** Asks for the window again, then for others in its place, then goes on without and says so. */
  #tryAgain(pending: PendingWindow, reason: Reason): void {
    this.#findings.note(reason)
    const isKnown = this.flaws.has(reason) || (this.#repair.isLookingBack && reason === 'page-mismatch')
    if (!this.#repair.tryAgain(pending, this.#end, { isKnown })) this.#giveUp(pending, reason)
  }

  #askOtherwise(pending: PendingWindow, failure: 'cached-answer' | 'too-large'): void {
    if (!this.#repair.askOtherwise(pending, failure, this.#end)) this.#skip(pending, failure)
    // With nothing but old answers nothing is known of the end either.
    if (this.#end.unread.count > FEW_TRIES && this.#end.reach >= this.#findings.total) this.stop(failure)
  }

  #giveUp(pending: PendingWindow, reason: Reason): void {
    const read = pending.read
    if (reason === 'page-mismatch' && this.#end.reach > 0 && this.#repair.lookBack(pending, reason, this.#end)) return
    this.flaws.add(reason)
    const isPromised = startOf(pending.window) < this.#findings.total
    const next = nextAfter(reason, read, { reach: this.#end.reach, isPromised })
    if (next === 'skip') return this.#skip(pending, reason)
    if (next === 'look behind') return this.#lookBehind(pending)
    if (next === 'end') this.over = true
    else if (next !== 'link') this.#stopAt(pending.window, next)
    else if (read !== undefined) {
      this.#link(pending, read)
      if (reason === 'total-mismatch') this.#plan.goOnAfterShort(read)
    }
  }

  /** No total says that the list ends here: what stands behind it shows whether it does. */
  #lookBehind({ window }: PendingWindow): void {
    this.#repair.cut()
    this.#end.lookBehind(window)
  }

  #stopAt(window: Window, failure: StoppedAt['failure']): void {
    this.stoppedAt = { window, failure }
    this.stop(failure === 'not-found' ? 'short-page' : failure)
  }

  /** Leaves positions unread and goes on behind them, a few times: then the list has most likely ended. */
  #skip(pending: PendingWindow, reason: Reason): void {
    this.flaws.add(reason)
    this.#end.unread.add(pending, { chainEnds: this.#end.last === undefined ? 0 : this.#end.reach })
    this.#repair.cut()
    this.#end.cutAt(pending.window)
    // Behind the rows promised, a service may refuse whatever reaches there.
    const isBehindAll = this.#findings.total > 0 && this.#end.reach >= this.#findings.total
    if (reason === 'hole' && isBehindAll && this.#plan.pending.empty) this.#conclude()
    else if (this.#end.unread.isLikelyEnd(reason)) this.#endHere()
  }

  /** The list has ended, unless a window shows that it has not. */
  #endHere(): void {
    const { emptied } = this.#end.unread
    if (emptied === undefined) this.#conclude()
    else this.#stopAt(emptied, 'not-found')
  }

  #conclude(): void {
    this.#chain.ties.leave()
    this.complete = true
    this.over = true
  }
}

/**
 * What follows a window that was doubtful, or another one, at every attempt. `link`: it has rows that none before it had. `look behind`:
 * it has none, and nothing but a wrong or a missing total says that the list goes on. `skip`: its positions stay unread.
 */
type Next = 'link' | 'look behind' | 'skip' | 'not-found' | 'page-mismatch' | 'repeated-page' | 'end'

/** `reach` is the end of the chain; `isPromised` says whether the total has rows where the window begins. */
function nextAfter(
  reason: Reason,
  read: ReadWindow | undefined,
  { reach, isPromised }: { reach: number; isPromised: boolean },
): Next {
  // A page without rows is no progress: otherwise a list with too high a total would have no end.
  const isProgress = read !== undefined && read.all.length > 0 && read.reach > reach
  const isCountless = reason === 'total-mismatch' && read !== undefined && !isBlank(read)
  if ((reason === 'short-page' || isCountless) && isProgress) return 'link'
  if (isCountless) return 'look behind'
  if (reason === 'short-page' || reason === 'hole') return 'skip'
  if ((isPromised || reach > 0) && read !== undefined && isBlank(read)) return 'not-found'
  return reason === 'page-mismatch' || reason === 'repeated-page' ? reason : 'end'
}
