import { sizeAfterRefusal, startOf, type Window, type WindowAnswer, windowKey } from '../scan/window.ts'
import type { Cut } from './cut.ts'
import { isExplained, type Comparison } from './gaps.ts'
import { ListEnd } from './list-end.ts'
import { evenlySpaced, questionsOn, within, type Asking } from './questions.ts'

/** What is known so far. `isStopped`: the first page could not be read. */
export type State = { readonly cuts: readonly Cut[]; compared: () => Comparison; readonly isStopped: boolean }

export type PlanOptions = {
  readonly expected: { readonly rowIds: ArrayLike<number> }
  readonly maxRequests: number
  readonly turn: number
  readonly pageSize: number
}

/** Pages at even distances, in a long list; a short one has fewer. */
const MOST_PROBES = 16
/** Where customers come and go in the middle of a list, this many times as many pages are read to find changes that cancel out. */
const LOOKS = 3
const LOOKED_AT_ONCE = 4
/** The last requests are left for searches. */
const FOR_SEARCHES = 12

/**
 * Which windows a quick scan asks for. It is in one of four states:
 *
 *   opening ──▶ finding the end ──▶ explaining the gaps ──▶ looking between
 *     page 1      the last page       a few pages at even       where all is explained, and customers come and go in the middle of the
 *                                     distances; then, where    list: the pages in the middle of the largest unread parts, since
 *                                     more or fewer rows stand  changes may have cancelled out there
 *                                     between two pages than expected, the page in their middle
 */
export class QuickPlan {
  readonly #options: PlanOptions
  readonly #asked = new Set<string>()
  readonly #underWay = new Map<string, Window>()
  readonly end: ListEnd
  /** The size of pages. */
  size: number
  #isFixed = false
  #hasLearned = false
  #requests = 0
  #probes: Window[] | undefined
  /** The number of requests made when looking between began. */
  #lookedFrom: number | undefined
  /** The end of the list could not be found. */
  #isEndless = false

  constructor(options: PlanOptions) {
    this.#options = options
    this.size = Math.min(100, Math.max(1, options.pageSize))
    this.end = new ListEnd(options.expected.rowIds.length)
  }

  /** Nothing is under way. */
  get isIdle(): boolean {
    return this.#underWay.size === 0
  }

  /** The next windows, at most `free`. */
  take(free: number, state: State): Window[] {
    const room = Math.max(0, Math.min(free, this.#room))
    const windows = room === 0 ? [] : this.#wanted(state).slice(0, room)
    for (const window of windows) {
      this.#requests += 1
      this.#asked.add(windowKey(window))
      this.#underWay.set(windowKey(window), window)
    }
    return windows
  }

  get #room(): number {
    return this.#options.maxRequests - this.#requests
  }

  answered(window: Window): void {
    this.#underWay.delete(windowKey(window))
  }

  /** The first answer shows the largest page that is served; a later one that is not of the size asked for, that sizes are fixed. */
  learn(answer: WindowAnswer): void {
    const { window, perPage } = answer
    if (!this.#hasLearned) this.size = Math.max(1, Math.min(perPage, this.size))
    else if (perPage !== window.size) this.#isFixed = true
    this.#hasLearned = true
    this.end.observe(answer)
  }

  /** A page was refused for its size: true when the first page is asked for in a smaller one. */
  retreat(window: Window): boolean {
    const smaller = this.#hasLearned ? undefined : sizeAfterRefusal(window.size)
    if (smaller === undefined) this.#isFixed = true
    else this.size = smaller
    return smaller !== undefined
  }

  hasMore(state: State): boolean {
    return this.#room > 0 && this.#wanted(state).length > 0
  }

  /** Whether something is left that a further request might explain. */
  isLeftToAsk({ compared, isStopped }: State): boolean {
    if (isStopped) return false
    if (this.end.length === undefined && !this.#isEndless) return true
    return questionsOn(compared().gaps, { ...this.#asking(), underWay: [] }).windows.length > 0
  }

  #wanted(state: State): Window[] {
    if (state.isStopped) return []
    if (!this.#hasLearned) return this.isIdle ? [{ page: 1, size: this.size }] : []
    if (this.end.length === undefined && !this.#isEndless) return this.#windowsToEnd(state)
    this.#probes ??= this.#planProbes(state)
    const probes = this.#probes.filter((window) => !this.#asked.has(windowKey(window)))
    if (probes.length > 0) return probes
    const { windows, isWaiting } = questionsOn(state.compared().gaps, this.#asking())
    return windows.length > 0 || isWaiting || !this.isIdle ? windows : this.#lookBetween(state)
  }

  #windowsToEnd(state: State): Window[] {
    if (!this.isIdle) return []
    const window = this.end.next(this.size, this.#isFixed)
    if (!this.#asked.has(windowKey(window))) return [window]
    this.#isEndless = true
    return this.#wanted(state)
  }

  #planProbes({ cuts }: State): Window[] {
    const { maxRequests, turn } = this.#options
    const length = this.end.length ?? this.end.least
    const pages = Math.ceil(length / this.size)
    const count = Math.min(MOST_PROBES, Math.floor(Math.sqrt(pages) / 2), Math.floor(maxRequests / 3))
    const isRead = (position: number) => cuts.some(({ start, reach }) => start <= position && position < reach)
    // A page that was read in another size is not worth a request.
    return evenlySpaced(length, count, { size: this.size, turn }).filter((window) => !isRead(startOf(window)))
  }

  #lookBetween({ compared }: State): Window[] {
    const { gaps, stirs } = compared()
    if (!stirs) return []
    this.#lookedFrom ??= this.#requests
    const looks = this.#lookedFrom + LOOKS * (this.#probes?.length ?? 0)
    const most = Math.min(looks, this.#options.maxRequests - FOR_SEARCHES)
    const holes = gaps.filter(isExplained).flatMap((gap) => gap.holes)
    const largest = holes.toSorted((one, other) => other.to - other.from - (one.to - one.from))
    const windows = largest.slice(0, LOOKED_AT_ONCE).map((hole) => within([hole], this.#asking()))
    return windows.filter((window) => window !== undefined).slice(0, Math.max(0, most - this.#requests))
  }

  #asking(): Asking {
    const underWay = [...this.#underWay.values()]
    return { size: this.size, isFixed: this.#isFixed, asked: this.#asked, underWay, room: this.#room }
  }
}
