import { endOf, windowKey, type ReadWindow, type Window, type WindowFailure } from './window.ts'

export type Failure = WindowFailure | 'flaky'

/** A window that was planned, then asked for, then read or failed. `isBridge`: it is to link another one that did not. */
export type Pending = {
  readonly window: Window
  readonly tries: number
  readonly isBridge: boolean
  asked: boolean
  read?: ReadWindow
  failure?: Failure
}

/** The windows behind the end of a chain, in the order in which they are to be settled. */
export class PendingWindows {
  #windows: readonly Pending[] = []

  get length(): number {
    return this.#windows.length
  }

  get first(): Pending | undefined {
    return this.#windows[0]
  }

  get unasked(): Pending | undefined {
    return this.#windows.find(({ asked }) => !asked)
  }

  /** The position up to which they reach, at least `reach`. */
  endFrom(reach: number): number {
    return this.#windows.reduce((end, { window }) => Math.max(end, endOf(window)), reach)
  }

  waitingFor(window: Window): Pending | undefined {
    const isSame = (pending: Pending) => windowKey(pending.window) === windowKey(window)
    return this.#windows.find((each) => each.asked && isSame(each) && each.read === undefined && !each.failure)
  }

  add(window: Window): Pending {
    const pending = { window, tries: 1, isBridge: false, asked: false }
    this.#windows = [...this.#windows, pending]
    return pending
  }

  putFirst(window: Window, { tries = 1, isBridge = false } = {}): void {
    const others = this.#windows.filter((each) => windowKey(each.window) !== windowKey(window))
    this.#windows = [{ window, tries, isBridge, asked: false }, ...others]
  }

  remove(pending: Pending | undefined): void {
    this.#windows = this.#windows.filter((each) => each !== pending)
  }

  /** Removes those that reach no further than the chain, and the one that was linked last. */
  removeUpTo(reach: number, linked?: ReadWindow): void {
    const isLinked = ({ read }: Pending) => read !== undefined && read === linked
    this.#windows = this.#windows.filter((each) => !isLinked(each) && endOf(each.window) > reach)
  }

  removeSizes(isUnserved: (size: number) => boolean): void {
    this.#windows = this.#windows.filter(({ window }) => !isUnserved(window.size))
  }

  clear(): void {
    this.#windows = []
  }
}
