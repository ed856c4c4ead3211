import { endOf, joinedSpans, startOf, type Span, type Window, windowKey } from './window.ts'

/** Positions `[position, position + size)` that no request could read. */
export type Hole = { readonly position: number; readonly size: number }

const SIZES = [50, 25, 5, 1]
/** More unreadable positions in one window: the service is down there. */
const MOST_HOLES = 10
const MOST_REQUESTS = 150

type Because = 'hole' | 'too-large'

/** `flaky`: every part of the window was read; `too-large`: so it was, in parts because the whole is too large. */
export type Bisected = { readonly window: Window; readonly end: 'hole' | 'flaky' | 'too-large' }

/** Finds the unreadable positions of windows, one after another, by smaller and smaller ones in their place. */
export class Bisections {
  /** The first one is under way. */
  #windows: { readonly window: Window; readonly because: Because }[] = []
  #parts: Window[] = []
  readonly #asked = new Set<string>()
  #unread: Span[] = []
  #requests = 0
  #allUnread: readonly Span[] = []

  /** The positions found so far, joined where they touch, in order. */
  get holes(): readonly Hole[] {
    return this.#allUnread.map(({ from, to }) => ({ position: from, size: to - from }))
  }

  begin(window: Window, because: Because): void {
    this.#windows.push({ window, because })
    if (this.#windows.length === 1) this.#divide(window)
  }

  next(): Window | undefined {
    const window = this.#parts.shift()
    if (window === undefined) return undefined
    this.#requests += 1
    this.#asked.add(windowKey(window))
    return window
  }

  read(window: Window): void {
    this.#asked.delete(windowKey(window))
  }

  /** False when no bisection waits for this window. */
  failed(window: Window): boolean {
    if (!this.#asked.delete(windowKey(window))) return false
    this.#divide(window)
    return true
  }

  #divide(window: Window): void {
    const whole = this.#windows[0]?.window ?? window
    const mayGoOn = this.#requests < MOST_REQUESTS && this.#unread.length < MOST_HOLES
    const parts = mayGoOn ? partsOf(window, whole) : []
    this.#parts.unshift(...parts)
    if (parts.length === 0) this.#unread.push({ from: startOf(window), to: endOf(window) })
  }

  /** Those that have ended since the last call. */
  ended(): readonly Bisected[] {
    const ended: Bisected[] = []
    for (let [first] = this.#windows; first !== undefined; [first] = this.#windows) {
      if (this.#parts.length > 0 || this.#asked.size > 0) break
      const { window, because } = first
      ended.push({ window, end: this.#unread.length > 0 ? 'hole' : because === 'too-large' ? because : 'flaky' })
      this.#allUnread = joinedSpans([...this.#allUnread, ...this.#unread])
      this.#windows.shift()
      this.#unread = []
      this.#requests = 0
      if (this.#windows[0] !== undefined) this.#divide(this.#windows[0].window)
    }
    return ended
  }

  clear(): void {
    this.#windows = []
    this.#parts = []
    this.#asked.clear()
    this.#unread = []
  }
}

/** The windows of the next smaller size that cover as much of `window` as lies in `whole`. */
function partsOf(window: Window, whole: Window): Window[] {
  const size = SIZES.find((smaller) => smaller < window.size)
  if (size === undefined) return []
  const first = Math.floor(Math.max(startOf(window), startOf(whole)) / size) + 1
  const last = Math.ceil(Math.min(endOf(window), endOf(whole)) / size)
  return Array.from({ length: last - first + 1 }, (_, index) => ({ page: first + index, size }))
}
