import { endOf, startOf, type Window, windowKey } from './window.ts'

/** Positions `[position, position + size)` that no request could read. */
export type Hole = { readonly position: number; readonly size: number }

const SIZES = [50, 25, 5, 1]
/** More unreadable positions in one window: the service is down there. */
const MOST_HOLES = 10
const MOST_REQUESTS = 150

type Because = 'hole' | 'too-large'

/** `flaky`: every part of the window was read; `too-large`: so it was, in parts because the whole is too large. */
export type Bisected = { readonly window: Window; readonly end: 'hole' | 'flaky' | 'too-large' }

type Bisection = {
  readonly window: Window
  readonly because: Because
  readonly waiting: Window[]
  readonly asked: Set<string>
  readonly holes: Hole[]
  requests: number
}

/** Finds the unreadable positions of windows by smaller and smaller ones in their place. */
export class Bisections {
  #underWay: Bisection[] = []
  #holes: Hole[] = []

  /** The positions found so far, joined where they touch, in order. */
  get holes(): readonly Hole[] {
    return this.#holes
  }

  begin(window: Window, because: Because): void {
    const waiting = split(window, window)
    const holes = waiting.length > 0 ? [] : [holeAt(window)]
    this.#underWay.push({ window, because, waiting, asked: new Set(), holes, requests: 0 })
  }

  next(): Window | undefined {
    for (const bisection of this.#underWay) {
      const window = bisection.waiting.shift()
      if (window === undefined) continue
      bisection.requests += 1
      bisection.asked.add(windowKey(window))
      return window
    }
    return undefined
  }

  read(window: Window): void {
    this.#waitingFor(window)
  }

  /** False when no bisection waits for this window. */
  failed(window: Window): boolean {
    const waiting = this.#waitingFor(window)
    for (const bisection of waiting) {
      const mayGoOn = bisection.requests < MOST_REQUESTS && bisection.holes.length < MOST_HOLES
      const smaller = mayGoOn ? split(window, bisection.window) : []
      bisection.waiting.unshift(...smaller)
      if (smaller.length === 0) bisection.holes.push(holeAt(window))
    }
    return waiting.length > 0
  }

  #waitingFor(window: Window): Bisection[] {
    return this.#underWay.filter(({ asked }) => asked.delete(windowKey(window)))
  }

  /** Those that have ended since the last call. */
  ended(): readonly Bisected[] {
    const isOver = ({ waiting, asked }: Bisection) => waiting.length === 0 && asked.size === 0
    const ended = this.#underWay.filter(isOver)
    if (ended.length > 0) this.#underWay = this.#underWay.filter((bisection) => !isOver(bisection))
    return ended.map(({ window, because, holes }) => {
      this.#holes = joined([...this.#holes, ...holes])
      return { window, end: holes.length > 0 ? 'hole' : because === 'too-large' ? because : 'flaky' }
    })
  }

  clear(): void {
    this.#underWay = []
  }
}

function holeAt(window: Window): Hole {
  return { position: startOf(window), size: window.size }
}

/** The windows of the next smaller size that cover as much of `window` as lies in `whole`. */
function split(window: Window, whole: Window): Window[] {
  const size = SIZES.find((smaller) => smaller < window.size)
  if (size === undefined) return []
  const first = Math.floor(Math.max(startOf(window), startOf(whole)) / size) + 1
  const last = Math.ceil(Math.min(endOf(window), endOf(whole)) / size)
  return Array.from({ length: last - first + 1 }, (_, index) => ({ page: first + index, size }))
}

function joined(holes: readonly Hole[]): Hole[] {
  const all: Hole[] = []
  for (const hole of holes.toSorted((one, other) => one.position - other.position)) {
    const last = all.at(-1)
    if (last === undefined || hole.position > last.position + last.size) all.push(hole)
    else {
      const end = Math.max(last.position + last.size, hole.position + hole.size)
      all[all.length - 1] = { position: last.position, size: end - last.position }
    }
  }
  return all
}
