import type { PassProof } from './certificate.ts'
import { ChainEnds } from './chain-ends.ts'
import { ChainPlan } from './chain-plan.ts'
import type { Findings } from './findings.ts'
import { doubtOf, isBeyondEnd, isBlank, isDoubtful, isEnd, type ReadWindow } from './read-window.ts'
import { ChainProof } from './chain-proof.ts'
import { LookBack } from './look-back.ts'
import { bridge, holds } from './repair.ts'
import { OtherSizes } from './other-sizes.ts'
import type { Pass, PassFailure } from './pass.ts'
import type { Reason } from './reasons.ts'
import { repeats, type Overlap, overlapBetween } from './overlap.ts'
import { askAgain, type PendingWindow } from './pending-windows.ts'
import { Unread } from './unread.ts'
import { endOf, startOf, type StoppedAt, type Window } from './window.ts'

/** Tries of a window that failed or makes no sense; fewer of one whose rows moved so far that it is likelier another page. */
const [MOST_TRIES, FEW_TRIES] = [5, 2]

/**
 * Reads the list forward as a chain of overlapping windows. Windows are asked for ahead and may arrive in any order;
 * each is linked to its left neighbour when its turn comes, and a link that does not hold is repaired by stepping back.
 */
export class LinkedPass implements Pass {
  readonly #findings: Findings
  readonly #chain: ChainProof
  readonly flaws = new Set<Reason>()
  readonly #plan: ChainPlan
  /** The last window of the chain; undefined at the start and after positions nobody could read. */
  #last: ReadWindow | undefined
  /** Where the chain ends. */
  #reach = 0
  #attempts = 0
  readonly #lookBack: LookBack
  readonly #unread = new Unread()
  readonly #otherSizes = new OtherSizes()
  readonly ends = new ChainEnds()
  over = false
  complete = false
  stoppedAt: StoppedAt | undefined

  constructor(findings: Findings, overlap: number) {
    this.#findings = findings
    this.#chain = new ChainProof(findings)
    this.#plan = new ChainPlan(findings, overlap, this.flaws)
    this.#lookBack = new LookBack(findings)
  }

  get obstacles(): readonly Reason[] {
    return this.#chain.obstacles
  }

  proof(): PassProof | undefined {
    return this.complete && this.flaws.size === 0 ? this.#chain.proof() : undefined
  }

  next(): Window | undefined {
    const pending = this.#plan.pending.notAsked() ?? this.#planAhead()
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
    const isFirst = this.#reach === 0 && read.start === 0
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

  #planAhead(): PendingWindow | undefined {
    return this.#plan.goOn(this.#reach, { isLookingBack: this.#lookBack.underWay })
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
    if (failure === 'size-refused') return this.#stopAt(pending.window, failure)
    if (failure === 'hole') return this.#skip(pending, failure)
    if (failure === 'cached-answer' || failure === 'too-large') return this.#askOtherwise(pending, failure)
    if (this.#reach > 0 && startOf(pending.window) >= this.#findings.total) return this.#stepBack(pending)
    this.#tryAgain(pending, failure === 'flaky' ? 'hole' : failure)
  }

  #settleRead(pending: PendingWindow, read: ReadWindow): void {
    if (isBeyondEnd(read) && this.#reach > 0) return this.#stepBack(pending)
    if (read.notFound && this.#reach > 0) return this.#settleNotFound(pending)
    if (isDoubtful(read)) return this.#tryAgain(pending, doubtOf(read))
    const left = this.#last
    if (left === undefined) return this.#link(pending, read)
    const overlap = overlapBetween(left, read)
    const isMisplaced = repeats(left, read) || (overlap.displaced && this.#attempts < FEW_TRIES)
    if (isMisplaced) return this.#tryAgain(pending, 'repeated-page')
    if (holds(overlap, left, this.#attempts, this.#chain, this.#findings)) return this.#link(pending, read, overlap)
    if (overlap.shared === 0) this.#findings.note('link-broken')
    this.#plan.shareMore()
    this.#attempts += 1
    if (pending.bridge) this.#plan.pending.remove(pending)
    const { refusedAt, exhausted } = this.#lookBack
    if (refusedAt === undefined)
      this.#plan.pending.addBridge(bridge(left, this.#attempts, this.#findings, pending.window))
    // What lies between the two was refused; pages further back know whether the list has become shorter.
    else if (!exhausted)
      this.#plan.pending.addBridge(this.#lookBack.next(left, pending.window, this.#plan.windowAfter(this.#reach)))
    else this.#stopAt(refusedAt.window, refusedAt.failure)
  }

  #link(pending: PendingWindow, read: ReadWindow, overlap?: Overlap): void {
    if (overlap === undefined) this.#chain.begin()
    else this.#chain.link(overlap)
    this.#plan.pending.remove(pending)
    this.#plan.pending.removeUpTo(read.reach)
    this.ends.extend(this.#last, read)
    this.#last = read
    this.#reach = read.reach
    this.#attempts = 0
    this.#unread.clear()
    this.#lookBack.reached(read.reach)
    if (isEnd(read)) this.#conclude()
  }

  /** The list ended before this window; where the chain has not ended, the list has become shorter. */
  #stepBack(pending: PendingWindow): void {
    this.#plan.pending.remove(pending)
    if (!this.#plan.pending.empty) return
    if (this.#last === undefined || this.flaws.size > 0) return this.#conclude()
    this.#attempts += 1
    this.#plan.pending.addBridge(bridge(this.#last, this.#attempts, this.#findings, pending.window))
  }

  #settleNotFound(pending: PendingWindow): void {
    if (startOf(pending.window) >= this.#findings.total) return this.#stepBack(pending)
    if (!this.#lookBack.hasBegun && this.#attempts < FEW_TRIES) return this.#tryAgain(pending, 'short-page')
    if (!this.#looksBack(pending, 'not-found')) this.#stopAt(pending.window, 'not-found')
  }

  /** Takes the window for one beyond the end, and asks for one before it; false when all of that was tried. */
  #looksBack(pending: PendingWindow, failure: 'not-found' | 'page-mismatch'): boolean {
    if (this.#lookBack.exhausted) return false
    this.#plan.pending.remove(pending)
    this.#lookBack.refused(pending.window, failure)
    if (!this.#plan.pending.empty) return true
    this.#plan.pending.addBridge(this.#lookBack.next(this.#last, pending.window, this.#plan.windowAfter(this.#reach)))
    return true
  }

  /** Asks for the window again, then for others in its place, then goes on without and says so. */
  #tryAgain(pending: PendingWindow, reason: Reason): void {
    this.#findings.note(reason)
    this.#attempts += 1
    const isKnown = this.flaws.has(reason) || (this.#lookBack.underWay && reason === 'page-mismatch')
    if (this.#attempts > MOST_TRIES || isKnown) return this.#giveUp(pending, reason)
    askAgain(pending)
    if (this.#last === undefined || this.#attempts % 2 === 1) return
    this.#findings.avoidPage(pending.window.page)
    this.#plan.pending.replace(pending, this.#plan.windowAfter(this.#last.reach))
  }

  /** Asks for what came out of a cache in another size, once, and for what was too large in ever smaller ones. */
  #askOtherwise(pending: PendingWindow, failure: 'cached-answer' | 'too-large'): void {
    const otherwise = this.#otherSizes.insteadOf(
      pending.window,
      failure,
      this.#reach,
      this.#last ? this.#plan.rowsToShare : 0,
    )
    if (otherwise === undefined) this.#skip(pending, failure)
    else this.#plan.pending.replace(pending, otherwise)
    // With nothing but old answers nothing is known of the end either.
    if (this.#unread.count > FEW_TRIES && this.#reach >= this.#findings.total) this.stop(failure)
  }

  #giveUp(pending: PendingWindow, reason: Reason): void {
    const read = pending.read
    if (reason === 'page-mismatch' && this.#reach > 0 && this.#looksBack(pending, reason)) return
    this.flaws.add(reason)
    if (reason === 'short-page') {
      // A page without a row is no progress, wherever it would lie: else a list with too high a total had no end.
      const isProgress = read !== undefined && read.all.length > 0 && read.reach > this.#reach
      return isProgress
        ? this.#link(pending, read, this.#last && overlapBetween(this.#last, read))
        : this.#skip(pending, reason)
    }
    if (reason === 'hole') return this.#skip(pending, reason)
    const isPromised = startOf(pending.window) < this.#findings.total
    if (isPromised && read !== undefined && isBlank(read)) return this.#stopAt(pending.window, 'not-found')
    if (reason === 'page-mismatch' || reason === 'repeated-page') return this.#stopAt(pending.window, reason)
    this.over = true
  }

  #stopAt(window: Window, failure: StoppedAt['failure']): void {
    this.stoppedAt = { window, failure }
    this.stop(failure === 'not-found' ? 'short-page' : failure)
  }

  /** Leaves positions unread and goes on behind them, a few times: then the list has most likely ended. */
  #skip(pending: PendingWindow, reason: Reason): void {
    this.flaws.add(reason)
    this.#unread.add(pending, { chainEnds: this.#last === undefined ? 0 : this.#reach })
    this.#chain.cut()
    this.#plan.pending.remove(pending)
    this.#plan.pending.removeUpTo(endOf(pending.window))
    this.#last = undefined
    this.#attempts = 0
    this.#reach = Math.max(this.#reach, endOf(pending.window))
    const { count, emptied } = this.#unread
    if (reason !== 'short-page' || count <= FEW_TRIES) return
    if (emptied === undefined) this.#conclude()
    else this.#stopAt(emptied, 'not-found')
  }

  #conclude(): void {
    this.complete = true
    this.over = true
  }
}
