import { ROUNDEST, type Findings } from './findings.ts'
import type { Reason } from '../model/reasons.ts'
import { PendingWindows, type Pending } from './pending.ts'
import { repeats, seamBetween, type Seam } from './seam.ts'
import type { Failure, Stage } from './scan.ts'
import { endOf, isDoubtful, isEnd, windowUpTo } from './window.ts'
import type { ReadWindow, Span, StoppedAt, Window } from './window.ts'

/** Windows asked for ahead of the end of the chain, readings of one, and steps back from the end before a seam is left loose. */
const LOOK_AHEAD = 96
const MOST_TRIES = 3
const MOST_STEPS = 5
/** Rows of one creation time at the end of a window that a step back leads over, as a share of a page. */
const MOST_TIE = 0.7
/** Readings with rows in another order before the list is taken for one without an order, and how many more a number of seams allows. */
const FEW_REORDERED = 3
const SEAMS_FOR_ONE_MORE = 8
/** Pages that must have been read before a refusal is taken for a limit of positions. */
const PAGES_BEFORE_LIMIT = 5

/**
 * The first stage: reads the list forward as overlapping windows. They may arrive in any order; the one nearest to the end of the chain is
 * settled first:
 *
 *   planned ──▶ asked ──▶ read ────▶ linked: the chain ends with it. A seam that is not good is repaired first, by windows further back.
 *                    └──▶ failed ──▶ asked for again ──▶ skipped, or the scan stops here
 */
export class Chain implements Stage {
  /** Whether it is over, and came to the end of the list. */
  isOver = false
  isComplete = false
  /** Whether all seams so far are firm, and whether nothing moved at any; otherwise, at how many the list was seen to change since it was resumed. */
  isFirm = true
  isStill = true
  restless = 0
  /** The stretches without a good seam. */
  readonly loose: Span[] = []
  /** Neighbours showed the same rows in another order too often for a list that has one. */
  isUnordered = false
  stoppedAt: StoppedAt | undefined
  windows = 0
  first: ReadWindow | undefined
  lastTwo: readonly ReadWindow[] = []
  readonly #findings: Findings
  readonly #pending = new PendingWindows()
  #left: ReadWindow | undefined
  /** The last window from before an interruption, since which anything may have happened. */
  #recalled: ReadWindow | undefined
  /** The window that waits for a bridge to the chain. */
  #unlinked: Pending | undefined
  #reach = 0
  #furthest = 0
  #steps = 0
  #empty = 0
  /** The last page that was linked had fewer rows than its size, although the total promises more. */
  #isShort = false
  /** A page without rows behind a full one, where no total says that the list ends there. */
  #gapAt: Window | undefined
  #reordered = 0
  /** Windows that end here or behind it were refused for their positions. */
  #ceiling = Infinity

  constructor(findings: Findings) {
    this.#findings = findings
    this.beginAnew()
  }

  beginAnew(): void {
    this.#left = undefined
    this.#reach = 0
    this.#furthest = 0
    this.#steps = 0
    this.windows = 0
    this.#pending.replaceBy({ page: 1, size: this.#findings.size })
  }

  next(): Window | undefined {
    if (this.isOver) return undefined
    const planned = this.#pending.next()
    const end = Math.max(this.#reach, this.#pending.reach)
    if (planned !== undefined || !this.#mayPlan(end)) return planned
    this.#pending.putLast(this.#findings.windowBehind(end))
    return this.#pending.next()
  }

  #mayPlan(end: number): boolean {
    if (this.#pending.isOver) return true
    const isBelowEnd = end <= this.#findings.rows && this.#ceiling === Infinity
    return isBelowEnd && this.#pending.all.length < LOOK_AHEAD && this.#reach > 0 && this.#empty === 0
  }

  waitingFor(window: Window): Pending | undefined {
    return this.#pending.waitingFor(window)
  }

  settle(window: Window, outcome: ReadWindow | Failure): void {
    const pending = this.#pending.waitingFor(window)
    if (pending !== undefined) pending.outcome = outcome
    this.#settleFirst()
  }

  /** A window read before an interruption; to be given in the order of their positions, before anything else. */
  recall(read: ReadWindow): void {
    this.isStill = false
    const left = this.#left
    if (left === undefined ? read.start > 0 : read.start > left.reach || read.reach <= left.reach) return
    if (this.isOver || isDoubtful(read)) return
    if (left !== undefined) {
      const seam = seamBetween(left, read)
      // The answer belongs to another window.
      if (seam.unexplained > read.window.size / 2 || !this.#isGood(seam, left, read)) return
      this.#linkSeam(seam, left, read)
    }
    this.#link(read)
    this.#pending.keep(() => false)
    this.#recalled = read
  }

  #settleFirst(): void {
    while (!this.isOver) {
      const [pending] = this.#pending.all
      if (pending?.outcome === undefined) return
      if (typeof pending.outcome === 'string') this.#settleFailure(pending, pending.outcome)
      else this.#settleRead(pending, pending.outcome)
    }
  }

  #settleFailure(pending: Pending, failure: Failure): void {
    const { rows, reads, total, size } = this.#findings
    // The list is read on in smaller pages.
    const isShrunk = failure === 'too-large' && pending.window.size > size
    if (isShrunk) return this.#pending.replaceBy(this.#findings.windowBehind(this.#reach))
    const isFinal = failure === 'hole' || failure === 'size-refused'
    if (!isFinal && pending.tries < MOST_TRIES) return this.#tryAgain(pending)
    if (failure === 'cached-answer' && reads === 0) return this.stop(pending.window, failure)
    // Behind the end a service may refuse a page in any way; before it, it may show no positions beyond a limit.
    if (total !== undefined && this.#reach >= rows) return this.#endBefore(pending)
    if (failure === 'hole' || failure === 'flaky') return this.#skip(pending, 'hole')
    if (failure === 'cached-answer' || failure === 'too-large') return this.#skip(pending, failure)
    if (total === undefined && this.#reach > 0) return this.#conclude(failure)
    if (failure === 'size-refused' && this.#mayBeLimit) return this.#lookForLimit(pending.window)
    this.stop(pending.window, failure)
  }

  /** Whether so much was read that a refusal may be one of all positions behind it. */
  get #mayBeLimit(): boolean {
    return this.#findings.furthest >= PAGES_BEFORE_LIMIT * this.#findings.size
  }

  #concludeAtLimit(): void {
    this.#findings.limit = this.#findings.furthest
    this.#conclude('offset-limit')
  }

  /** All requests are spent. Where one page after another could not be read, the service shows no positions behind the last row. */
  giveUp({ isBisecting }: { isBisecting: boolean }): void {
    if (this.isComplete) return
    const isAtHole = this.#left === undefined && this.#findings.flaws.has('hole')
    if ((isBisecting || isAtHole) && this.#mayBeLimit) this.#concludeAtLimit()
    else this.stop({ page: 1, size: this.#findings.size }, this.#findings.reads === 0 ? 'hole' : 'page-cap')
  }

  /** Looks for the last position that the service shows, behind the chain and before the end of a window that it refused. */
  #lookForLimit(refused?: Window): void {
    if (refused !== undefined) this.#ceiling = Math.min(this.#ceiling, endOf(refused))
    this.#steps += 1
    const { size, isFixed } = this.#findings
    const next = windowUpTo(this.#ceiling, this.#reach, size, isFixed ? size : 1)
    if (next === undefined || this.#steps > MOST_STEPS) this.#concludeAtLimit()
    else this.#pending.replaceBy(next)
  }

  #settleRead(pending: Pending, read: ReadWindow): void {
    const { total, rows, size } = this.#findings
    const left = this.#left
    // A short window whose rows the chain has passed already shows nothing behind them.
    const isPassed = read.reach <= this.#reach && isDoubtful(read) && rows > read.reach
    this.#isShort ||= isPassed && read.keys.length > 0
    const isEmpty = read.reach === read.start || isPassed || (left === undefined && read.reach <= this.#reach)
    if (isEmpty) return this.#settleEmpty(pending, read)
    const isEndOfCountless = (total === undefined || total < read.reach) && isDoubtful(read)
    if (isDoubtful(read) && !isEndOfCountless) {
      if (pending.tries > 1 && this.#findsOtherSizes(read)) return
      if (pending.tries < MOST_TRIES) return this.#tryAgain(pending)
    }
    if (isDoubtful(read)) this.#findings.flaws.add(isEndOfCountless ? 'total-mismatch' : 'short-page')
    if (this.#gapAt !== undefined) return this.stop(this.#gapAt, 'not-found')
    // Without a total, a service that serves smaller pages than it says shows it by nothing else.
    if (total === undefined && read.start === 0) this.#findings.size = Math.min(size, read.reach)
    if (left === undefined) return this.#link(read)
    // Behind the last rows, which it holds once more, the window has no others.
    const isBehind = isEndOfCountless && read.reach <= this.#reach && read.keys.some((key) => left.places.has(key))
    if (isBehind) return this.#conclude()
    if (repeats(left, read)) {
      if (pending.tries < MOST_TRIES) return this.#tryAgain(pending)
      if (total !== undefined && this.#reach >= rows) return this.#conclude('repeated-page')
      return this.stop(read.window, 'repeated-page')
    }
    // The flaw of pages side by side costs every grade.
    if (this.#findings.isFixed) return this.#link(read)
    const seam = seamBetween(left, read)
    // An answer may belong to another window, or be of another size than it says, and seem to be the last page.
    const isOdd = seam.unexplained > (isEnd(read) && !this.#findings.isExact ? 0 : size / 2)
    if (isOdd && left !== this.#recalled && pending.tries < MOST_TRIES) return this.#tryAgain(pending)
    if (!this.#isBeyondRepair(seam, left) && !this.#isGood(seam, left, read))
      return this.#bridge(left, pending, read, seam)
    this.#linkSeam(seam, left, read)
    this.#link(read)
  }

  /** A page was short, twice: the service serves other sizes than it is asked for, and says that it does not. Then only one is asked for. */
  #findsOtherSizes({ window, start, reach }: ReadWindow): boolean {
    const findings = this.#findings
    const served = reach - start
    if (start === 0 && window.size === findings.size && this.windows === 0) findings.size = served
    else if (window.size < findings.size && !findings.isExact && served % ROUNDEST === 0) findings.fixSize()
    else return false
    this.beginAnew()
    return true
  }

  /** Whether a seam carries the best grade that the chain may still have. */
  #isGood(seam: Seam, left: ReadWindow, read: ReadWindow): boolean {
    if (this.#findings.witnesses.spans(seam, left, read)) return true
    return seam.firm && !(this.#steps === 0 && this.#hasHope(left))
  }

  /** Whether a step back may lead over the rows of one creation time, to a seam that a witness spans. */
  #hasHope({ rowOrder: { tieAtEnd } }: ReadWindow): boolean {
    const { witnesses, size } = this.#findings
    return witnesses.hopes().length > 0 && tieAtEnd < MOST_TIE * size
  }

  #isBeyondRepair({ reordered }: Seam, left: ReadWindow): boolean {
    if (!this.#findings.mayRepair) return true
    if (this.#hasHope(left)) return this.#steps >= MOST_STEPS
    if (reordered) {
      this.#reordered += 1
      this.isUnordered ||= this.#reordered > FEW_REORDERED + this.windows / SEAMS_FOR_ONE_MORE
    }
    if (this.isUnordered) return true
    return this.#steps >= (this.isFirm ? MOST_STEPS : 1)
  }

  /** Asks for a window further back than the chain ends, by what the list has shrunk since and a step that grows. */
  #bridge(left: ReadWindow, pending: Pending, read: ReadWindow, { firm, shared }: Seam): void {
    const { size, rows } = this.#findings
    const { tieAtEnd } = left.rowOrder
    const tie = tieAtEnd < MOST_TIE * size ? tieAtEnd : 0
    this.#findings.missed(firm ? tie + 1 : 0, read.start < left.reach ? 2 : 0)
    this.#steps += 1
    // What was read before the window that was to link it shows an older list.
    if (pending === this.#unlinked && read.turn < left.turn) {
      this.#pending.drop(pending)
      return this.#pending.putFirst([this.#findings.windowBehind(left.reach)])
    }
    if (pending.isBridge) this.#pending.drop(pending)
    else this.#unlinked = pending
    const shrunk = Math.max(0, (left.total ?? 0) - rows)
    const step = shared === 0 ? 4 ** (this.#steps - 1) : this.#steps
    const back = shrunk + Math.max(Math.ceil(size / 8), tie + 1) * step
    const bridge = this.#findings.windowCovering(Math.min(left.reach - 1 - back, rows - 1))
    this.#pending.putFirst([bridge], { isBridge: true })
  }

  #settleEmpty(pending: Pending, read: ReadWindow): void {
    const { total, rows } = this.#findings
    if (read.start >= rows) {
      const mayBeGap = total === undefined && !this.#isShort && this.#gapAt === undefined
      if (this.#reach === 0 || !mayBeGap) return this.#endBefore(pending)
      // Behind a full page: nothing but the next one shows whether the list ends here.
      this.#gapAt = read.window
      this.#pending.drop(pending)
      return this.#pending.putFirst([{ page: read.window.page + 1, size: read.window.size }])
    }
    if (pending.tries < MOST_TRIES) return this.#tryAgain(pending)
    this.#empty += 1
    const isRefused = read.isBeyondEnd && this.#empty > 1
    if (isRefused && this.#mayBeLimit) return this.#lookForLimit(pending.window)
    if (!isRefused && this.#empty <= MOST_TRIES) return this.#skip(pending, 'short-page')
    // Full pages followed by empty ones: a list rarely ends exactly at the end of a page.
    if (this.#isShort && !isRefused) return this.#conclude('short-page')
    this.stop(read.window, 'not-found')
  }

  /** A window stands behind the last row: ends the chain if it holds that row. If the list has become shorter since, a window further back does. */
  #endBefore(pending: Pending): void {
    const { total, rows, isFixed, size } = this.#findings
    if (this.#reach === 0) return this.#conclude()
    this.#pending.drop(pending)
    if (!this.#pending.isOver) return
    if (this.#left !== undefined && total !== undefined && !isFixed && this.#steps < MOST_STEPS) {
      this.#steps += 1
      return this.#pending.putFirst([this.#findings.windowCovering(rows - Math.ceil(size / 2 ** this.#steps))])
    }
    // No window of the chain holds the last row: rows may stand behind it that no window shows.
    this.#conclude(isFixed ? undefined : 'link-broken')
  }

  #tryAgain(pending: Pending): void {
    const { window, tries, isBridge } = pending
    const again = tries % 2 === 0 ? this.#findings.otherWindow(window, this.#reach) : window
    this.#pending.drop(pending)
    this.#pending.putFirst([again], { tries: tries + 1, isBridge })
  }

  #link(read: ReadWindow): void {
    const left = this.#left
    if (read.start === 0) this.first ??= read
    this.lastTwo = left === undefined ? [read] : [left, read]
    this.windows += 1
    this.#isShort = isDoubtful(read) || (this.#isShort && read.reach <= this.#furthest)
    this.#left = read
    this.#reach = read.reach
    // So much may have happened since an interruption that nothing links with what was read before it: then the chain begins anew, once.
    const isAnew = read.start === 0 && this.#recalled !== undefined
    if (isAnew) this.#recalled = undefined
    if (isAnew || read.reach > this.#furthest) [this.#furthest, this.#steps, this.#empty] = [read.reach, 0, 0]
    this.#pending.keep((each) => each.outcome !== read && endOf(each.window) > read.reach)
    if (isEnd(read)) return this.#conclude()
    if (this.#ceiling < Infinity) this.#lookForLimit()
  }

  #linkSeam(seam: Seam, left: ReadWindow, read: ReadWindow): void {
    const { witnesses } = this.#findings
    if (!seam.firm && !witnesses.spans(seam, left, read)) this.loose.push({ from: left.start, to: read.reach })
    witnesses.link(seam, left, read)
    this.#findings.linked(seam)
    this.isFirm &&= seam.firm
    this.isStill &&= seam.still
    if (!seam.still) this.restless += 1
    if (left === this.#recalled) [this.restless, this.#findings.changesBefore] = [0, this.#findings.changes]
  }

  /** Leaves positions unread and goes on behind them. */
  #skip({ window }: Pending, reason: Reason): void {
    this.#findings.flaws.add(reason)
    this.#left = undefined
    this.#reach = Math.max(this.#reach, endOf(window))
    this.#steps = 0
    this.#pending.keep((each) => endOf(each.window) > this.#reach)
    const { rows, total } = this.#findings
    if (this.#pending.isOver && this.#reach >= rows && total !== undefined) this.#conclude()
  }

  /** Ends the scan before the end of the list, which was not reached. */
  stop(window: Window, failure: StoppedAt['failure']): void {
    this.#findings.flaws.add(failure === 'not-found' ? 'short-page' : failure)
    this.stoppedAt ??= { window, failure }
    this.isOver = true
  }

  #conclude(flaw?: Reason): void {
    if (flaw !== undefined) this.#findings.flaws.add(flaw)
    this.isComplete = true
    this.isOver = true
  }
}
