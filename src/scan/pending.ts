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

/** The windows of a chain, in the order in which they are to be settled; each of them once. */
export class PendingWindows {
  #all: readonly Pending[] = []

  get first(): Pending | undefined {
    return this.#all[0]
  }

  get count(): number {
    return this.#all.length
  }

  /** The position up to which they reach. */
  get end(): number {
    return this.#all.reduce((furthest, { window }) => Math.max(furthest, endOf(window)), 0)
  }

  /** The first that was not asked for yet: now it is. */
  ask(): Window | undefined {
    const pending = this.#all.find(({ asked }) => !asked)
    if (pending !== undefined) pending.asked = true
    return pending?.window
  }

  get isAsked(): boolean {
    return this.#all.every(({ asked }) => asked)
  }

  isWaitingFor(window: Window): boolean {
    return this.#waitingFor(window) !== undefined
  }

  settle(window: Window, outcome: ReadWindow | Failure): void {
    const pending = this.#waitingFor(window)
    if (pending !== undefined) pending.outcome = outcome
  }

  #waitingFor(window: Window): Pending | undefined {
    const isSame = (pending: Pending) => windowKey(pending.window) === windowKey(window)
    return this.#all.find((each) => each.asked && isSame(each) && each.outcome === undefined)
  }

  putFirst(window: Window, { tries = 1, isBridge = false } = {}): void {
    this.keep((each) => windowKey(each.window) !== windowKey(window))
    this.#all = [{ window, tries, isBridge, asked: false }, ...this.#all]
  }

  putLast(window: Window): void {
    this.#all = [...this.#all, { window, tries: 1, isBridge: false, asked: false }]
  }

  keep(isWanted: (pending: Pending) => boolean): void {
    this.#all = this.#all.filter(isWanted)
  }

  drop(pending: Pending): void {
    this.keep((each) => each !== pending)
  }

  clear(): void {
    this.#all = []
  }
}
