import { endOf, joinedSpans, startOf, type Span, type Window, windowKey, WindowQueue } from './window.ts'

/** Positions `[position, position + size)` that no request could read. */
export type Hole = { readonly position: number; readonly size: number }

const SIZES = [50, 25, 5, 1]
/** More unreadable positions in one window: the service is down there. */
const MOST_HOLES = 10
const MOST_REQUESTS = 150

/** `flaky`: every part of the window was read; `too-large`: so it was, in parts because the whole is too large. */
export type Bisected = { readonly window: Window; readonly end: 'hole' | 'flaky' | 'too-large' }

/** Finds the unreadable positions of windows by smaller and smaller ones in their place; what lies in two of them is asked for once. */
export class Bisections {
  #windows: { readonly window: Window; readonly because: 'hole' | 'too-large' }[] = []
  readonly #parts = new WindowQueue()
  /** Every part there was since no window was left. */
  readonly #known = new Set<string>()
  #unread: Span[] = []
  #requests = 0
  #allUnread: readonly Span[] = []

  /** The positions found so far, joined where they touch, in order. */
  get holes(): readonly Hole[] {
    return this.#allUnread.map(({ from, to }) => ({ position: from, size: to - from }))
  }

  get isBisecting(): boolean {
    return this.#windows.length > 0
  }

  begin(window: Window, because: 'hole' | 'too-large'): void {
    this.#windows.push({ window, because })
    this.#divide(window)
  }

  next(): Window | undefined {
    const window = this.#parts.next()
    if (window !== undefined) this.#requests += 1
    return window
  }

  read(window: Window): void {
    this.#parts.remove(window)
  }

  /** False when no bisection waits for this window. */
  failed(window: Window): boolean {
    const isPart = this.#parts.remove(window)
    if (isPart) this.#divide(window)
    return isPart
  }

  #divide(window: Window): void {
    const mayGoOn = this.#requests < MOST_REQUESTS && this.#unread.length < MOST_HOLES * this.#windows.length
    const parts = mayGoOn ? partsOf(window) : []
    if (parts.length === 0) this.#unread.push({ from: startOf(window), to: endOf(window) })
    const isWanted = (part: Window) =>
      this.#windows.some((each) => endOf(part) > startOf(each.window) && startOf(part) < endOf(each.window))
    const wanted = parts.filter((part) => isWanted(part) && !this.#known.has(windowKey(part)))
    for (const part of wanted) this.#known.add(windowKey(part))
    this.#parts.putFirst(wanted)
  }

  /** Those that have ended since the last call: all of them, or none yet. */
  ended(): readonly Bisected[] {
    if (!this.#parts.isOver) return []
    const ended = this.#windows.map(({ window, because }): Bisected => {
      const isUnread = this.#unread.some(({ from, to }) => from < endOf(window) && to > startOf(window))
      return { window, end: isUnread ? 'hole' : because === 'too-large' ? because : 'flaky' }
    })
    this.#allUnread = joinedSpans([...this.#allUnread, ...this.#unread])
    this.clear()
    return ended
  }

  clear(): void {
    this.#windows = []
    this.#parts.clear()
    this.#known.clear()
    this.#unread = []
    this.#requests = 0
  }
}

/** The windows of the next smaller size that cover this one. */
function partsOf(window: Window): Window[] {
  const size = SIZES.find((smaller) => smaller < window.size)
  if (size === undefined) return []
  const first = Math.floor(startOf(window) / size) + 1
  const last = Math.ceil(endOf(window) / size)
  return Array.from({ length: last - first + 1 }, (_, index) => ({ page: first + index, size }))
}
