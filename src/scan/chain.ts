import { isRoundCap, ROUNDEST, type Findings } from './findings.ts'
import type { Reason } from '../model/reasons.ts'
import { repeats, seamBetween, type Seam } from './seam.ts'
import type { Failure, Stage } from './scan.ts'
import {
  endOf,
  isDoubtful,
  isEnd,
  startOf,
  windowKey,
  windowUpTo,
  type ReadWindow,
  type Span,
  type StoppedAt,
  type Window,
} from './window.ts'

/** A window that was planned, then asked for, then read or failed. `isBridge`: it is to link another one that did not. */
type Pending = {
  readonly window: Window
  readonly tries: number
  readonly isBridge: boolean
  asked: boolean
  read?: ReadWindow
  failure?: Failure
}

/** Windows asked for ahead of the end of the chain, at rest and while a seam is repaired. */
const LOOK_AHEAD = 96
const AHEAD_OF_REPAIR = 8
const MOST_TRIES = 3
/** Steps back from the end of the chain before a seam is left loose. */
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
  /** The stretches without a good seam, and at how many seams the list was seen to change. */
  readonly loose: Span[] = []
  restless = 0
  /** Whether it came to the end of the list. */
  isComplete = false
  isOver = false
  /** Whether all seams so far are firm, and whether nothing moved at any. */
  isFirm = true
  isStill = true
  /** Neighbours showed the same rows in another order too often for a list that has one. */
  isUnordered = false
  stoppedAt: StoppedAt | undefined
  windows = 0
  first: ReadWindow | undefined
  lastTwo: readonly ReadWindow[] = []
  readonly #findings: Findings
  /** In the order in which they are to be settled. */
  #pending: readonly Pending[] = []
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
    this.#pending = []
    this.#left = undefined
    this.#reach = 0
    this.#furthest = 0
    this.#steps = 0
    this.windows = 0
    this.#putFirst({ page: 1, size: this.#findings.size })
  }

  next(): Window | undefined {
    if (this.isOver) return undefined
    let pending = this.#pending.find(({ asked }) => !asked)
    const end = this.#pending.reduce((furthest, { window }) => Math.max(furthest, endOf(window)), this.#reach)
    if (pending === undefined && this.#mayPlan(end)) {
      pending = { window: this.#findings.windowBehind(end), tries: 1, isBridge: false, asked: false }
      this.#pending = [...this.#pending, pending]
    }
    if (pending !== undefined) pending.asked = true
    return pending?.window
  }

  #mayPlan(end: number): boolean {
    const { length } = this.#pending
    if (length === 0) return true
    const most = this.#steps > 0 ? AHEAD_OF_REPAIR : LOOK_AHEAD
    const { rows, isFixed } = this.#findings
    const isBelowEnd = end <= rows - (isFixed ? 1 : 0) && this.#ceiling === Infinity
    return length < most && this.#reach > 0 && this.#empty === 0 && isBelowEnd
  }

  isWaitingFor(window: Window): boolean {
    return this.#waitingFor(window) !== undefined
  }

  take(window: Window, read: ReadWindow): void {
    const pending = this.#waitingFor(window)
    if (pending === undefined) return
    pending.read = read
    this.#settle()
  }

  failed(window: Window, failure: Failure): void {
    const pending = this.#waitingFor(window)
    if (pending === undefined) return
    pending.failure = failure
    this.#settle()
  }

  /** A window read before an interruption; to be given in the order of their positions, before anything else. */
  recall(read: ReadWindow): void {
    this.isStill = false
    const left = this.#left
    if (left === undefined ? read.start > 0 : read.start > left.reach || read.reach <= left.reach) return
    if (this.isOver || isDoubtful(read)) return
    const seam = left && seamBetween(left, read)
    if (left !== undefined && seam !== undefined) {
      const isOther = repeats(left, read) || seam.unexplained > read.window.size / 2
      if (isOther || !this.#isGood(seam, left, read)) return
    }
    this.#link(read, seam)
    this.#pending = []
    this.#recalled = read
  }

  #waitingFor(window: Window): Pending | undefined {
    const isSame = (pending: Pending) => windowKey(pending.window) === windowKey(window)
    return this.#pending.find((each) => each.asked && isSame(each) && each.read === undefined && !each.failure)
  }

  #putFirst(window: Window, { tries = 1, isBridge = false } = {}): void {
    const others = this.#pending.filter((each) => windowKey(each.window) !== windowKey(window))
    this.#pending = [{ window, tries, isBridge, asked: false }, ...others]
  }

  #settle(): void {
    while (!this.isOver) {
      const [pending] = this.#pending
      if (pending?.failure !== undefined) this.#settleFailure(pending, pending.failure)
      else if (pending?.read !== undefined) this.#settleRead(pending, pending.read)
      else return
    }
  }

  #settleFailure(pending: Pending, failure: Failure): void {
    const { rows, total, size } = this.#findings
    // Behind the end a service may refuse a page in any way; before it, it may show no positions beyond a limit.
    const isBehind = this.#reach > 0 && startOf(pending.window) >= rows
    if (failure === 'hole') return isBehind && total !== undefined ? this.#conclude() : this.#skip(pending, failure)
    if (failure === 'size-refused' && isBehind) return this.#conclude()
    if (failure === 'size-refused' && this.#reach >= PAGES_BEFORE_LIMIT * size)
      return this.#lookForLimit(pending.window)
    if (failure === 'size-refused') return this.#stop({ window: pending.window, failure }, failure)
    if (failure === 'too-large' && pending.window.size > size) {
      // The list is read on in smaller pages.
      this.#pending = []
      return this.#putFirst(this.#findings.windowBehind(this.#reach))
    }
    if (pending.tries < MOST_TRIES) return this.#tryAgain(pending, failure === 'cached-answer')
    if (failure === 'cached-answer' && this.#findings.reads === 0) return this.#conclude(failure)
    if (failure === 'flaky') return this.#skip(pending, 'hole')
    if (failure === 'cached-answer' || failure === 'too-large') return this.#skip(pending, failure)
    if (this.#reach > 0 && this.#reach >= rows) return this.#conclude(total === undefined ? failure : undefined)
    this.#stop({ window: pending.window, failure }, failure)
  }

  /** Looks for the last position that the service shows, behind the chain and before the end of a window that it refused. */
  #lookForLimit(refused?: Window): void {
    if (refused !== undefined) this.#ceiling = Math.min(this.#ceiling, endOf(refused))
    this.#pending = []
    this.#steps += 1
    const { size, isFixed } = this.#findings
    const sizes = { least: isFixed ? size : 1, most: size }
    const next = this.#steps > MOST_STEPS ? undefined : windowUpTo(this.#ceiling, this.#reach, sizes)
    if (next !== undefined) return this.#putFirst(next)
    this.#findings.limit = this.#reach
    this.#conclude('offset-limit')
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
    if (this.#gapAt !== undefined && startOf(read.window) >= endOf(this.#gapAt)) {
      return this.#stop({ window: this.#gapAt, failure: 'not-found' }, 'short-page')
    }
    if (left === undefined) {
      // Without a total, a service that serves smaller pages than it says shows it by nothing else.
      if (total === undefined && read.start === 0) this.#findings.size = Math.min(size, read.reach)
      return this.#link(read)
    }
    // Behind the last rows, which it holds once more, the window has no others.
    const isBehind = isEndOfCountless && read.reach <= this.#reach && read.keys.some((key) => left.places.has(key))
    if (isBehind) return this.#conclude()
    if (repeats(left, read)) {
      if (pending.tries < MOST_TRIES) return this.#tryAgain(pending)
      if (total !== undefined && this.#reach >= rows) return this.#conclude('repeated-page')
      return this.#stop({ window: read.window, failure: 'repeated-page' }, 'repeated-page')
    }
    const seam = seamBetween(left, read)
    // An answer may belong to another window, or be of another size than it says, and seem to be the last page.
    const isComparable = !this.#findings.isFixed && left !== this.#recalled
    const isOdd = seam.unexplained > (isEnd(read) && !this.#findings.isExact ? 0 : size / 2)
    if (isComparable && isOdd && pending.tries < MOST_TRIES) return this.#tryAgain(pending)
    const mayStay = this.#findings.isFixed || this.#isBeyondRepair(seam, left)
    if (mayStay || this.#isGood(seam, left, read)) return this.#link(read, seam)
    this.#bridge(left, pending, read, seam)
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
    const { witnesses, size } = this.#findings
    if (witnesses.spans(seam, left, read)) return true
    // A step back may lead over the rows of one creation time.
    const mayLead = witnesses.hopes.length > 0 && this.#steps === 0 && left.rowOrder.tieAtEnd < MOST_TIE * size
    return (seam.firm || (seam.still && this.isStill)) && !mayLead
  }

  #isBeyondRepair({ reordered, shared }: Seam, left: ReadWindow): boolean {
    const { witnesses, size, mayRepair } = this.#findings
    if (!mayRepair) return true
    const hasHope = witnesses.hopes.length > 0 && left.rowOrder.tieAtEnd < MOST_TIE * size
    if (hasHope) return this.#steps >= MOST_STEPS
    if (reordered) {
      this.#reordered += 1
      this.isUnordered ||= this.#reordered > FEW_REORDERED + this.#findings.links / SEAMS_FOR_ONE_MORE
    }
    if (this.isUnordered) return true
    const most = reordered ? MOST_STEPS - 1 : this.isFirm ? MOST_STEPS : shared > 0 ? 0 : 1
    return this.#steps >= most
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
      this.#pending = this.#pending.slice(1)
      return this.#putFirst(this.#findings.windowBehind(left.reach))
    }
    if (pending.isBridge) this.#pending = this.#pending.slice(1)
    else this.#unlinked = pending
    const shrunk = Math.max(0, (left.total ?? 0) - rows)
    const step = shared === 0 ? 4 ** (this.#steps - 1) : this.#steps
    const back = shrunk + Math.max(Math.ceil(size / 8), tie + 1) * step
    this.#putFirst(this.#findings.windowCovering(Math.min(left.reach - 1 - back, rows - 1)), { isBridge: true })
  }

  #settleEmpty(pending: Pending, read: ReadWindow): void {
    const { total, rows, isFixed, size } = this.#findings
    const isPromised = total !== undefined && read.start < rows
    if (!isPromised) {
      if (this.#reach === 0) return this.#conclude()
      this.#pending = this.#pending.slice(1)
      if (total === undefined && !this.#isShort && this.#gapAt === undefined) {
        // Behind a full page: nothing but the next one shows whether the list ends here.
        this.#gapAt = read.window
        return this.#putFirst({ page: read.window.page + 1, size: read.window.size })
      }
      if (this.#pending.length > 0) return
      // The list has become shorter since the chain came so far: a window further back knows its end.
      if (this.#left !== undefined && total !== undefined && !isFixed && this.#steps < MOST_STEPS) {
        this.#steps += 1
        return this.#putFirst(this.#findings.windowCovering(rows - Math.ceil(size / 2 ** this.#steps)))
      }
      // No window of the chain holds the last row: rows may stand behind it that no window shows.
      const isAtEnd = isFixed || (this.#left !== undefined && isEnd(this.#left))
      return this.#conclude(isAtEnd ? undefined : 'link-broken')
    }
    if (pending.tries < MOST_TRIES) return this.#tryAgain(pending)
    this.#empty += 1
    if (read.isBeyondEnd && this.#empty > 1) {
      if (this.#reach >= PAGES_BEFORE_LIMIT * size) return this.#lookForLimit(pending.window)
      return this.#stop({ window: read.window, failure: 'not-found' }, 'short-page')
    }
    if (this.#empty > MOST_TRIES) {
      // Full pages followed by empty ones: a list rarely ends exactly at the end of a page.
      if (this.#isShort) return this.#conclude('short-page')
      return this.#stop({ window: read.window, failure: 'not-found' }, 'short-page')
    }
    this.#skip(pending, 'short-page')
  }

  #tryAgain({ window, tries, isBridge }: Pending, atOnceInOtherSize = false): void {
    const isOther = atOnceInOtherSize || tries % 2 === 0
    const again = isOther ? this.#findings.otherWindow(window, this.#reach) : window
    this.#pending = this.#pending.slice(1)
    this.#putFirst(again, { tries: tries + 1, isBridge })
  }

  #link(read: ReadWindow, seam?: Seam): void {
    const findings = this.#findings
    const left = this.#left
    if (left !== undefined && seam !== undefined) this.#linkSeam(seam, left, read)
    if (findings.isFixed) findings.witnesses.cut()
    if (read.start === 0) this.first ??= read
    this.lastTwo = left === undefined ? [read] : [left, read]
    this.windows += 1
    this.#isShort = isDoubtful(read) || (this.#isShort && read.reach <= this.#furthest)
    this.#left = read
    this.#reach = read.reach
    if (read.reach > this.#furthest) [this.#furthest, this.#steps, this.#empty] = [read.reach, 0, 0]
    this.#pending = this.#pending.filter((each) => each.read !== read && endOf(each.window) > read.reach)
    const isLastPage = findings.isFixed && read.reach === read.total && !isRoundCap(read.reach)
    if (isEnd(read) || isLastPage) return this.#conclude()
    if (this.#ceiling < Infinity) this.#lookForLimit()
  }

  #linkSeam(seam: Seam, left: ReadWindow, read: ReadWindow): void {
    const findings = this.#findings
    const isSpanned = !findings.isFixed && findings.witnesses.spans(seam, left, read)
    if (!findings.isFixed) findings.witnesses.link(seam, left, read)
    findings.changes += seam.changes
    findings.linked(seam.still)
    this.isStill &&= seam.still
    if (!seam.still) this.restless += 1
    if (findings.isFixed || (!seam.firm && !isSpanned)) this.loose.push({ from: left.start, to: read.reach })
    this.isFirm &&= seam.firm && !findings.isFixed
  }

  /** Leaves positions unread and goes on behind them. */
  #skip({ window }: Pending, reason: Reason): void {
    this.#findings.flaws.add(reason)
    this.#findings.witnesses.cut()
    this.isFirm = false
    this.isStill = false
    this.#left = undefined
    this.#reach = Math.max(this.#reach, endOf(window))
    this.#steps = 0
    this.#pending = this.#pending.filter((each) => endOf(each.window) > this.#reach)
    const { rows, total } = this.#findings
    if (this.#pending.length === 0 && this.#reach >= rows && total !== undefined) this.#conclude()
  }

  #stop(at: StoppedAt, flaw: Reason): void {
    this.#findings.flaws.add(flaw)
    this.stoppedAt = at
    this.isOver = true
  }

  #conclude(flaw?: Reason): void {
    if (flaw !== undefined) this.#findings.flaws.add(flaw)
    this.isComplete = true
    this.isOver = true
  }
}
