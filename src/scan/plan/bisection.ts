import type { Hole } from '../certificate.ts'
import { endOf, startOf, windowKey, type Window } from '../window/window.ts'

/** Each size divides the one before, so smaller windows lie inside larger ones and no position is requested twice. */
const SIZES = [50, 25, 5, 1]
/** More unreadable positions than this in one page are not poison rows: the service is down. */
const MOST_HOLES = 10
const MOST_REQUESTS = 150

/** Finds the unreadable positions of a window by requesting smaller and smaller windows in its place. */
export class Bisection {
  readonly #from: number
  readonly #to: number
  readonly #waiting: Window[]
  readonly #asked = new Set<string>()
  readonly #holes: Hole[] = []
  #requests = 0

  readonly because: 'hole' | 'too-large'

  constructor(window: Window, because: 'hole' | 'too-large') {
    this.because = because
    this.#from = startOf(window)
    this.#to = endOf(window)
    this.#waiting = this.#split(window)
    if (this.#waiting.length === 0) this.#addHole(window)
  }

  next(): Window | undefined {
    const window = this.#waiting.shift()
    if (window === undefined) return undefined
    this.#requests += 1
    this.#asked.add(windowKey(window))
    return window
  }

  /** Whether this bisection asked for the window and is still waiting for it. */
  awaits(window: Window): boolean {
    return this.#asked.has(windowKey(window))
  }

  read(window: Window): void {
    this.#asked.delete(windowKey(window))
  }

  failed(window: Window): void {
    this.#asked.delete(windowKey(window))
    const smaller = this.#hopeless ? [] : this.#split(window)
    if (smaller.length === 0) this.#addHole(window)
    this.#waiting.unshift(...smaller)
    if (!this.#hopeless) return
    for (const left of this.#waiting.splice(0)) this.#addHole(left)
  }

  get over(): boolean {
    return this.#waiting.length === 0 && this.#asked.size === 0
  }

  get holes(): readonly Hole[] {
    return this.#holes
  }

  get #hopeless(): boolean {
    return this.#holes.length >= MOST_HOLES || this.#requests >= MOST_REQUESTS
  }

  #split(window: Window): Window[] {
    const size = SIZES.find((smaller) => smaller < window.size)
    if (size === undefined) return []
    const first = Math.floor(Math.max(startOf(window), this.#from) / size) + 1
    const last = Math.ceil(Math.min(endOf(window), this.#to) / size)
    return Array.from({ length: last - first + 1 }, (_, index) => ({ page: first + index, size }))
  }

  #addHole(window: Window): void {
    this.#holes.push({ position: startOf(window), size: window.size })
  }
}

/** Joins holes that touch, and returns them in order of position. */
export function joinHoles(holes: readonly Hole[]): Hole[] {
  const joined: Hole[] = []
  for (const hole of holes.toSorted((a, b) => a.position - b.position)) {
    const last = joined.at(-1)
    if (last === undefined || hole.position > last.position + last.size) joined.push(hole)
    else
      joined[joined.length - 1] = {
        position: last.position,
        size: Math.max(last.size, hole.position + hole.size - last.position),
      }
  }
  return joined
}
