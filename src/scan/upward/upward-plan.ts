import type { Findings } from '../findings.ts'
import type { PassFailure } from '../pass.ts'
import { USUAL_OVERLAP, windowAfter, windowBefore, windowFrom } from '../plan/planner.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { endOf, isSame, startOf, type Window } from '../window/window.ts'

/** A window of an upward pass, and how many windows had arrived when it was asked for last. */
export type Asked = {
  window: Window
  isAsked: boolean
  askedAt: number
  tries: number
  read?: ReadWindow | undefined
  failure?: PassFailure | undefined
}

/** The most windows ahead of the one that the pass waits for: a bound for its memory. */
const LOOK_AHEAD = 128
/** The largest part of a page that neighbouring windows are planned to share. */
const MOST_SHARED = 1 / 3

/** The windows above a chain: which are pending, the lowest first, and which comes next. */
export class UpwardPlan {
  readonly #findings: Findings
  #pending: Asked[] = []
  /** Windows that have arrived, as the scan counts them. */
  #arrived = 0

  constructor(findings: Findings) {
    this.#findings = findings
  }

  get nearest(): Asked | undefined {
    return this.#pending[0]
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0
  }

  /** The next window that was planned and not asked for yet. */
  next(): Window | undefined {
    const underWay = this.#pending.filter(isUnderWay)
    const next = this.#pending.find(
      ({ isAsked, window }) => !isAsked && !underWay.some((other) => isSame(other.window, window)),
    )
    if (next === undefined) return undefined
    next.isAsked = true
    next.askedAt = this.#arrived
    return next.window
  }

  /** The entry that waits for this window. */
  waitingFor(window: Window): Asked | undefined {
    return this.#pending.find((asked) => isUnderWay(asked) && isSame(asked.window, window))
  }

  arrived({ turn }: ReadWindow): void {
    this.#arrived = Math.max(this.#arrived, turn + 1)
  }

  remove(asked: Asked): void {
    this.#pending = this.#pending.filter((other) => other !== asked)
  }

  /** Asks for another window in the place of one that did not help, or for the same once more. */
  askAgain(asked: Asked, window = asked.window): void {
    Object.assign(asked, { window, isAsked: false, tries: asked.tries + 1, read: undefined, failure: undefined })
  }

  /** Asks for the rows in another page size, every second time, and below pages that were read. */
  askOtherwise(asked: Asked): void {
    const { pageSize, avoid } = this.#findings
    const isAgain = asked.tries % 2 === 1 || asked.window.page === 1
    if (!isAgain) this.#findings.avoidPage(asked.window.page)
    this.askAgain(asked, isAgain ? asked.window : windowBefore(endOf(asked.window), pageSize, avoid))
  }

  page1(): void {
    this.#add({ page: 1, size: this.#findings.pageSize })
  }

  /** The window that holds the end of the list, as the total says. */
  end(): void {
    this.#add(this.endBefore(Infinity))
  }

  /** The window that holds the end of the list, as the total says, and rows before a position. */
  endBefore(position: number): Window {
    const { total, pageSize, avoid } = this.#findings
    return windowBefore(Math.max(1, Math.min(total + 1, position)), pageSize, avoid)
  }

  /** The window below one that shares rows with it, before all others. Each try shares more. */
  below(upper: ReadWindow, tries: number): void {
    const { pageSize, avoid } = this.#findings
    const onward = tries === 0 ? windowAfter(upper.reach, USUAL_OVERLAP, pageSize, avoid) : undefined
    const back = Math.min(upper.all.length - 1, USUAL_OVERLAP * 4 ** tries)
    this.#add(onward ?? windowFrom(Math.max(0, upper.reach - back), pageSize, avoid), { first: true })
  }

  /**
   * Plans the window above those that begin at `chainStart` or are pending, where rows are pushed down by up to `push` from
   * one window to the next. The top must wait until nothing is pending, and so must all windows where rows move too fast.
   */
  above(chainStart: number, push: number): void {
    const { pageSize, avoid } = this.#findings
    const last = this.#pending.at(-1)
    const from = last === undefined ? chainStart : startOf(last.window)
    const most = Math.floor(pageSize * MOST_SHARED)
    const waits = from === 0 || push > most || this.#pending.length >= LOOK_AHEAD
    if (last !== undefined && waits) return
    if (from === 0) return this.page1()
    let shared = Math.min(most, USUAL_OVERLAP + push)
    let window = windowBefore(from + shared, pageSize, avoid)
    for (; shared > 1 && startOf(window) >= from; shared -= 1) window = windowBefore(from + shared - 1, pageSize, avoid)
    // A page to avoid is better than none; where every size divides the position, the next one shares no row.
    for (let ahead = 1; ahead >= 0 && startOf(window) >= from; ahead -= 1) window = windowBefore(from + ahead, pageSize)
    if (startOf(window) > 0) this.#add(window)
    else if (last === undefined) this.page1()
  }

  #add(window: Window, { first = false } = {}): void {
    const asked: Asked = { window, isAsked: false, askedAt: 0, tries: 0 }
    if (first) this.#pending.unshift(asked)
    else this.#pending.push(asked)
  }
}

function isUnderWay({ isAsked, read, failure }: Asked): boolean {
  return isAsked && read === undefined && failure === undefined
}
