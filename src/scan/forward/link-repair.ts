import type { ChainPlan } from './chain-plan.ts'
import type { Findings } from '../findings.ts'
import { OtherSizes } from './other-sizes.ts'
import { askAgain, type PendingWindow } from '../plan/pending-windows.ts'
import type { ReadWindow } from '../window/read-window.ts'
import { bridge } from './repair.ts'
import { type StoppedAt, type Window, startOf } from '../window/window.ts'

/** The end of a chain: its last window, and the position after it. The window is unknown at the start and after unread positions. */
export type ChainEnd = { readonly last: ReadWindow | undefined; readonly reach: number }

/** Tries of a window that failed or contradicts its total. */
const MOST_TRIES = 5

/** Chooses the window to request when the next one does not continue the chain, and counts the attempts since it last did. */
export class LinkRepair {
  readonly #findings: Findings
  readonly #plan: ChainPlan
  readonly #lookBack: LookBack
  readonly #otherSizes = new OtherSizes()
  #attempts = 0
  #stepsBack = 0
  #furthest = 0
  /** The window for which one further back was read. */
  #bridged: PendingWindow | undefined

  constructor(findings: Findings, plan: ChainPlan) {
    this.#findings = findings
    this.#plan = plan
    this.#lookBack = new LookBack(findings)
  }

  get attempts(): number {
    return this.#attempts
  }

  /** How often a window did not link since the chain last came further than ever; windows that only lead back do not end the count. */
  get stepsBack(): number {
    return this.#stepsBack
  }

  /** Windows before the end of the chain are being read again, to see whether the list has become shorter. */
  get isLookingBack(): boolean {
    return this.#lookBack.underWay
  }

  get hasLookedBack(): boolean {
    return this.#lookBack.hasBegun
  }

  /** The chain continues at `reach`. */
  linked(reach: number): void {
    this.#attempts = 0
    if (reach > this.#furthest) {
      this.#furthest = reach
      this.#stepsBack = 0
    }
    this.#lookBack.reached(reach)
  }

  /** The chain was cut. */
  cut(): void {
    this.#attempts = 0
    this.#stepsBack = 0
  }

  /** The window does not link to `left`: asks for one further back. Returns where the list was refused when nothing is left to ask. */
  bridge(left: ReadWindow, pending: PendingWindow, read: ReadWindow): StoppedAt | undefined {
    if (read.start < left.reach) this.#findings.overlap.missed(this.#findings.pageSize)
    this.#attempts += 1
    this.#stepsBack += 1
    if (pending.bridge) this.#plan.pending.remove(pending)
    // A window that was read before the one that was to link it shows an older list: it is read again.
    else if (this.#bridged === pending && read.turn < left.turn) {
      this.#plan.pending.replace(pending, this.#plan.windowAfter(left.reach))
      return undefined
    } else this.#bridged = pending
    const { refusedAt, exhausted } = this.#lookBack
    if (refusedAt === undefined) this.#askFurtherBack(left, pending.window)
    // What lies between the two was refused; pages further back know whether the list has become shorter.
    else if (!exhausted) this.#askBefore(left, pending.window, left.reach)
    else return refusedAt
    return undefined
  }

  /** The list ended before this window: asks for one further back, which may link and knows the end. */
  stepBack(left: ReadWindow, refused: Window): void {
    this.#attempts += 1
    this.#askFurtherBack(left, refused)
  }

  /** Treats the window as beyond the end, and requests one before it; false when every step back was tried. */
  lookBack(pending: PendingWindow, failure: 'not-found' | 'page-mismatch', end: ChainEnd): boolean {
    if (this.#lookBack.exhausted) return false
    this.#plan.pending.remove(pending)
    this.#lookBack.refused(pending.window, failure)
    if (this.#plan.pending.empty) this.#askBefore(end.last, pending.window, end.reach)
    return true
  }

  /** Asks for the window again, every second time for another in its place; false when it was tried often enough. */
  tryAgain(pending: PendingWindow, { last }: ChainEnd, { isKnown }: { isKnown: boolean }): boolean {
    this.#attempts += 1
    if (this.#attempts > MOST_TRIES || isKnown) return false
    askAgain(pending)
    if (last === undefined || this.#attempts % 2 === 1) return true
    this.#findings.avoidPage(pending.window.page)
    this.#plan.pending.replace(pending, this.#plan.windowAfter(last.reach))
    return true
  }

  /** Requests a cached answer in another size, once, and a too large one in smaller and smaller sizes; false when none is left. */
  askOtherwise(pending: PendingWindow, why: 'cached-answer' | 'too-large', end: ChainEnd): boolean {
    const rowsToShare = end.last === undefined ? 0 : this.#plan.rowsToShare
    const otherwise = this.#otherSizes.insteadOf(pending.window, why, end.reach, rowsToShare)
    if (otherwise !== undefined) this.#plan.pending.replace(pending, otherwise)
    return otherwise !== undefined
  }

  #askFurtherBack(left: ReadWindow, refused: Window): void {
    this.#plan.pending.addBridge(bridge(left, this.#attempts, this.#findings, refused))
  }

  #askBefore(last: ReadWindow | undefined, refused: Window, reach: number): void {
    this.#plan.pending.addBridge(this.#lookBack.next(last, refused, this.#plan.windowAfter(reach)))
  }
}

/** Steps back before page 1 is requested, which always exists. */
const MOST_STEPS = 5

/**
 * The list seems to end although its total promises more rows. It may have shrunk: pages further back state the new total. If
 * that still promises more rows, the service refused the page.
 */
class LookBack {
  readonly #findings: Findings
  #furthest = 0
  #steps = 0
  /** The window that ended the list, and how; until the chain reaches further, nothing beyond is asked for. */
  #at: StoppedAt | undefined

  constructor(findings: Findings) {
    this.#findings = findings
  }

  get underWay(): boolean {
    return this.#at !== undefined
  }

  /** The window that was refused although the total, as last stated by pages further back, promises rows there. */
  get refusedAt(): StoppedAt | undefined {
    return this.#at !== undefined && startOf(this.#at.window) < this.#findings.total ? this.#at : undefined
  }

  get hasBegun(): boolean {
    return this.#steps > 0
  }

  get exhausted(): boolean {
    return this.#steps > MOST_STEPS
  }

  reached(reach: number): void {
    if (reach <= this.#furthest) return
    this.#furthest = reach
    this.#steps = 0
    this.#at = undefined
  }

  refused(window: Window, failure: StoppedAt['failure']): void {
    this.#at = { window, failure }
    this.#findings.avoidPage(window.page)
  }

  /** The next window to look back at from the last one of the chain; `onward` where the chain was cut. */
  next(last: ReadWindow | undefined, refused: Window, onward: Window): Window {
    this.#steps += 1
    if (this.exhausted) return { page: 1, size: this.#findings.pageSize }
    return last === undefined ? onward : bridge(last, this.#steps, this.#findings, refused)
  }
}
