import { PendingWindows } from './pending.ts'
import { endOf, startOf, windowAt, type Span, type Window } from './window.ts'

/** Positions `[position, position + size)` that no request could read. */
export type Hole = { readonly position: number; readonly size: number }

const SIZES = [50, 25, 5, 1]
/** More unreadable positions in one window: the service is down there. */
const MOST_HOLES = 10

/** Finds the unreadable positions of a window by smaller and smaller ones in its place. */
export class Bisection extends PendingWindows {
  readonly window: Window
  readonly unread: Span[] = []
  readonly #because: 'hole' | 'too-large'

  constructor(window: Window, because: 'hole' | 'too-large') {
    super()
    this.window = window
    this.#because = because
    this.#divide(window)
  }

  /** A part of it was read, or could not be. */
  settle(part: Window, isRead: boolean): void {
    if (this.remove(part) && !isRead) this.#divide(part)
  }

  #divide(part: Window): void {
    const isWanted = ({ page, size }: Window) =>
      size * page > startOf(this.window) && size * (page - 1) < endOf(this.window)
    const parts = this.unread.length < MOST_HOLES ? partsOf(part).filter(isWanted) : []
    if (parts.length === 0) this.unread.push({ from: startOf(part), to: endOf(part) })
    this.putFirst(parts)
  }

  /** How it ended. `flaky`: every part of the window was read; `too-large`: so it was, in parts because the whole is too large. */
  get result(): 'hole' | 'flaky' | 'too-large' {
    if (this.unread.length > 0) return 'hole'
    return this.#because === 'too-large' ? 'too-large' : 'flaky'
  }
}

/** The windows of the next smaller size that cover this one. */
function partsOf(window: Window): Window[] {
  const size = SIZES.find((smaller) => smaller < window.size)
  if (size === undefined) return []
  const first = windowAt(startOf(window), size).page
  return Array.from({ length: windowAt(endOf(window) - 1, size).page - first + 1 }, (_, index) => ({
    page: first + index,
    size,
  }))
}
