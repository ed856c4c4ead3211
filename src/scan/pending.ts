import type { Failure } from './scan.ts'
import { endOf, windowKey, type ReadWindow, type Window } from './window.ts'

/** A window that was planned, then asked for, then read or failed. `isBridge`: it is to link another one that did not. */
export type Pending = {
  readonly window: Window
  readonly tries: number
  readonly isBridge: boolean
  asked: boolean
  outcome?: ReadWindow | Failure
}

/** Windows to be asked for in this order, and those that were and are not settled yet; each of them once. */
export class PendingWindows {
  all: readonly Pending[] = []

  get isOver(): boolean {
    return this.all.length === 0
  }

  get reach(): number {
    return this.all.reduce((furthest, { window }) => Math.max(furthest, endOf(window)), 0)
  }

  /** The first that was not asked for yet: now it is. */
  next(): Window | undefined {
    const pending = this.all.find(({ asked }) => !asked)
    if (pending !== undefined) pending.asked = true
    return pending?.window
  }

  /** The one that was asked for and is not settled yet; undefined for any other window. */
  waitingFor(window: Window): Pending | undefined {
    const key = windowKey(window)
    return this.all.find((each) => each.asked && windowKey(each.window) === key && each.outcome === undefined)
  }

  /** Takes out a window that was asked for; false for another one. */
  remove(window: Window): boolean {
    const pending = this.waitingFor(window)
    if (pending !== undefined) this.drop(pending)
    return pending !== undefined
  }

  putFirst(windows: readonly Window[], { tries = 1, isBridge = false } = {}): void {
    const keys = new Set(windows.map(windowKey))
    this.keep((each) => !keys.has(windowKey(each.window)))
    this.all = [...windows.map((window) => ({ window, tries, isBridge, asked: false })), ...this.all]
  }

  putLast(window: Window): void {
    this.all = [...this.all, { window, tries: 1, isBridge: false, asked: false }]
  }

  keep(isWanted: (pending: Pending) => boolean): void {
    this.all = this.all.filter(isWanted)
  }

  drop(pending: Pending): void {
    this.keep((each) => each !== pending)
  }

  replaceBy(window: Window): void {
    this.all = []
    this.putLast(window)
  }
}
