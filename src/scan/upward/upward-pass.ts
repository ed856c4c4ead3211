import type { PassProof } from '../certificate.ts'
import type { Findings } from '../findings.ts'
import type { ChainedPass, Pass, PassFailure } from '../pass.ts'
import { isDoubtful, isEnd, type ReadWindow } from '../window/read-window.ts'
import type { Reason } from '../reasons.ts'
import { UpwardChain } from './upward-chain.ts'
import { UpwardDescent } from './upward-descent.ts'
import { type Asked, UpwardPlan } from './upward-plan.ts'
import type { TieRegion } from '../proof/tie-region.ts'
import { startOf, type Window } from '../window/window.ts'

/** Tries of a window that failed or contradicts its total, and of the top. */
const MOST_TRIES = 4
/** The fewest windows that may be read from the top down to rows that stood there before. */
const FEW_STEPS = 8
/** Failures after which the positions of a window are left unread. */
const MAY_CUT: ReadonlySet<PassFailure> = new Set<PassFailure>(['hole', 'flaky', 'too-large', 'cached-answer'])
/** Rows that went to the top, before the list is believed to be one by last change. */
const ENOUGH_GONE_UP = 2

/**
 * Reads a list by last change, in which rows move only to the top, from its end upwards. Windows are asked for ahead and may
 * arrive in any order, except the top: it is read when everything else has arrived.
 *
 *   opening ──▶ ending ──▶ rising ◀──────────────────▶ descending
 *                            │    a window does not link: what lies below it is read, window by window,
 *                            │    until one links, or holds the end of the list
 *                            └── the top links, and was read last ──▶ complete
 *
 *   opening: page 1 says how long the list is     ending: the window with the last row is looked for
 *   any of them ── too many tries ──▶ given up: the list is read in another way
 */
export class UpwardPass implements ChainedPass {
  readonly #findings: Findings
  readonly #plan: UpwardPlan
  readonly #chain: UpwardChain
  readonly flaws = new Set<Reason>()
  readonly stoppedAt = undefined
  over = false
  complete = false
  readonly #descent: UpwardDescent
  /** The position above which the list was cut: the next window begins a chain there. */
  #cutAt: number | undefined
  /** Windows without rows where the end was looked for, and windows at the top that did not link. */
  #emptyEnds = 0
  #looseTops = 0
  /** Only what lies above a window that was read is read. */
  readonly #isRest: boolean
  /** Rows that moved were seen at the top, which was read last. */
  #isByLastChange = false
  /** The top as first read; empty before. */
  #first: readonly ReadWindow[] = []

  /** `onTop`: what lies above a window at the top, read before, is read instead of the list. */
  constructor(findings: Findings, onTop?: ReadWindow) {
    this.#findings = findings
    this.#isRest = onTop !== undefined
    this.#plan = new UpwardPlan(findings)
    this.#chain = new UpwardChain(findings)
    const halfOfAll = Math.ceil(findings.total / findings.pageSize / 2)
    const mostSteps = onTop === undefined ? Infinity : Math.max(FEW_STEPS, halfOfAll)
    this.#descent = new UpwardDescent(this.#chain, this.#plan, { mostSteps })
    if (onTop === undefined) return
    this.#first = [onTop]
    this.#chain.begin(onTop)
  }

  get ends(): ChainedPass['ends'] {
    const { lowest } = this.#chain
    return { first: this.#first, lastTwo: lowest === undefined ? [] : [lowest] }
  }

  get obstacles(): readonly Reason[] {
    return this.#chain.proof.obstacles
  }

  get seams(): Pass['seams'] {
    const { areNearlyStill, areWorthAnother } = this.#chain.proof.seams
    return { metAgain: this.#chain.metAgain, areNearlyStill, areWorthAnother }
  }

  /** Nothing: rows of one creation time that stand in no order are for a pass forward. */
  toCount(): readonly TieRegion[] {
    return []
  }

  get settles(): boolean {
    return this.complete && this.flaws.size === 0 && this.#chain.proof.settles
  }

  get settledBy(): PassProof | undefined {
    return this.#isByLastChange ? { basis: 'last change' } : undefined
  }

  proof(): PassProof | undefined {
    return this.complete && this.flaws.size === 0 ? this.#chain.proof.proof() : undefined
  }

  next(): Window | undefined {
    if (this.over) return undefined
    const planned = this.#plan.next()
    if (planned !== undefined) return planned
    this.#planAhead()
    return this.#plan.next()
  }

  take(window: Window, read: ReadWindow): void {
    const asked = this.#plan.waitingFor(window)
    this.#plan.arrived(read)
    if (asked === undefined) return
    asked.isAsked = true
    asked.read = read
    this.#settle()
  }

  failed(window: Window, failure: PassFailure): void {
    const asked = this.#plan.waitingFor(window)
    if (asked === undefined) return
    asked.failure = failure
    this.#settle()
  }

  /** A window read before an interruption. To be given in the order of their positions, before anything else. */
  recall(read: ReadWindow): void {
    this.#plan.arrived(read)
    if (read.start === 0) this.#openBy(read)
    this.#chain.recall(read)
  }

  stop(reason: Reason): void {
    this.flaws.add(reason)
    this.over = true
  }

  #planAhead(): void {
    if (this.#descent.isUnderWay) return
    this.#chain.endRecall()
    const { top, push } = this.#chain
    if (this.#first.length === 0) {
      if (this.#plan.isEmpty) this.#plan.page1()
    } else if (top !== undefined || this.#cutAt !== undefined || !this.#plan.isEmpty) {
      this.#plan.above(top?.start ?? this.#cutAt ?? 0, push)
    } else this.#plan.end()
  }

  #settle(): void {
    while (!this.over) {
      const asked = this.#plan.nearest
      if (asked?.failure !== undefined) this.#settleFailure(asked, asked.failure)
      else if (asked?.read !== undefined) this.#settleRead(asked, asked.read)
      else return
    }
  }

  #settleFailure(asked: Asked, failure: PassFailure): void {
    const isLasting = failure === 'hole' || failure === 'size-refused'
    if (!isLasting && asked.tries < MOST_TRIES) return this.#plan.askOtherwise(asked)
    if (MAY_CUT.has(failure) && this.#isRising) this.#cut(asked, failure === 'flaky' ? 'hole' : failure)
    else this.#giveUp()
  }

  /** The end of the list is known, and the window waited for lies above the chain. */
  get #isRising(): boolean {
    return !this.#descent.isUnderWay && (this.#chain.top !== undefined || this.#cutAt !== undefined)
  }

  #settleRead(asked: Asked, read: ReadWindow): void {
    if (this.#descent.isUnderWay) return this.#descend(asked, read)
    if (this.#first.length === 0) return this.#open(asked, read)
    if (read.all.length === 0) return this.#settleEmpty(asked, read)
    if (isDoubtful(read)) return this.#tryAgain(asked)
    this.#plan.remove(asked)
    if (this.#chain.extend({ read, askedAt: asked.askedAt })) {
      if (read.start === 0) this.#conclude()
      return
    }
    if (isEnd(read) || this.#cutAt !== undefined) return this.#begin(read)
    if (read.start === 0) this.#looseTops += 1
    // Below the top all is linked, but it changes faster than it can be read.
    if (this.#looseTops > MOST_TRIES && this.#chain.top?.start === 0) this.#conclude({ isTopLast: false })
    else if (!this.#descent.begin(read)) this.#giveUp()
  }

  /** Page 1, which says how long the list is, and who stands at the top before anything is read. */
  #open(asked: Asked, read: ReadWindow): void {
    if (isDoubtful(read)) return this.#tryAgain(asked)
    this.#plan.remove(asked)
    this.#openBy(read)
    if (isEnd(read)) this.#begin(read)
  }

  #openBy(read: ReadWindow): void {
    this.#first = [read]
    this.#chain.openedBy(read)
  }

  /** No row is there any more: the list has become shorter. */
  #settleEmpty(asked: Asked, read: ReadWindow): void {
    this.#emptyEnds += 1
    if (this.#isRising || this.#emptyEnds > MOST_TRIES) return this.#giveUp()
    this.#plan.askAgain(asked, this.#plan.endBefore(read.start))
  }

  #tryAgain(asked: Asked): void {
    if (asked.tries >= MOST_TRIES) this.#giveUp()
    else this.#plan.askAgain(asked)
  }

  /** A window begins the chain: it holds the end of the list, or lies above rows that could not be read. */
  #begin(read: ReadWindow): void {
    this.#cutAt = undefined
    this.#chain.begin(read)
    if (read.start === 0) this.#conclude()
  }

  #descend(asked: Asked, read: ReadWindow): void {
    if (read.all.length > 0 && isDoubtful(read)) return this.#tryAgain(asked)
    this.#plan.remove(asked)
    if (!this.#descent.take({ read, askedAt: asked.askedAt })) this.#giveUp()
  }

  /** Leaves positions unread, and goes on above them. */
  #cut(asked: Asked, reason: Reason): void {
    this.flaws.add(reason)
    this.#plan.remove(asked)
    this.#chain.cut()
    this.#cutAt = startOf(asked.window)
    if (this.#cutAt === 0) this.#conclude()
  }

  /** The list does not behave like one by last change: another pass reads it in another way. */
  #giveUp(): void {
    this.flaws.clear()
    if (!this.#isRest) this.#learn({ isByLastChange: false })
    this.stop('link-broken')
  }

  #conclude({ isTopLast = true } = {}): void {
    this.complete = true
    this.over = true
    this.#isByLastChange = isTopLast && this.#chain.wentUp >= ENOUGH_GONE_UP && this.#descent.restarts === 0
    if (this.#isByLastChange || (!this.#isRest && !this.#chain.proof.still))
      this.#learn({ isByLastChange: this.#isByLastChange })
  }

  #learn({ isByLastChange }: { isByLastChange: boolean }): void {
    const direction = isByLastChange ? 'last-change' : undefined
    this.#findings.nextOrder = { ...this.#findings.nextOrder, direction }
  }
}
