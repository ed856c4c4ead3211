import { Bisection, joinHoles } from './bisection.ts'
import type { Hole } from '../certificate.ts'
import { type Window, windowKey } from '../window/window.ts'

/** How a bisected window ended: unreadable in places, read in smaller parts, or read in parts because it was too large. */
type Bisected = { window: Window; end: 'hole' | 'flaky' | 'too-large' }

const NONE: readonly Bisected[] = []

/** The windows of a scan that are being bisected, and the holes found so far. */
export class Bisections {
  readonly #underWay = new Map<Window, Bisection>()
  #holes: Hole[] = []

  /** The holes found so far, joined where they touch, in order of position. */
  get holes(): readonly Hole[] {
    return this.#holes
  }

  begin(window: Window, because: 'hole' | 'too-large'): void {
    this.#underWay.set(window, new Bisection(window, because))
  }

  /** The next window to request that is not in `underWay` already. */
  next(underWay: ReadonlySet<string>): Window | undefined {
    for (const bisection of this.#underWay.values()) {
      let window = bisection.next()
      while (window !== undefined && underWay.has(windowKey(window))) window = bisection.next()
      if (window !== undefined) return window
    }
    return undefined
  }

  /** False when no bisection waits for this window; windows that overlap can both hold a poison row. */
  answered(window: Window, how: 'read' | 'failed'): boolean {
    if (this.#underWay.size === 0) return false
    const waiting = [...this.#underWay.values()].filter((bisection) => bisection.awaits(window))
    for (const bisection of waiting) bisection[how](window)
    return waiting.length > 0
  }

  /** The bisections that have ended since the last call. */
  ended(): readonly Bisected[] {
    if (this.#underWay.size === 0) return NONE
    const ended: Bisected[] = []
    for (const [window, bisection] of this.#underWay) {
      if (!bisection.over) continue
      this.#underWay.delete(window)
      this.#holes = joinHoles([...this.#holes, ...bisection.holes])
      const end = bisection.holes.length > 0 ? 'hole' : bisection.because === 'too-large' ? 'too-large' : 'flaky'
      ended.push({ window, end })
    }
    return ended
  }

  clear(): void {
    this.#underWay.clear()
  }
}
