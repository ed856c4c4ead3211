import type { Reason } from '../model/reasons.ts'
import { Findings } from '../scan/findings.ts'
import { NO_PROOF, type Certificate, type Scan } from '../scan/scan.ts'
import { repeats } from '../scan/seam.ts'
import { readOf, sizeAfterRefusal, startOf, windowAt, windowKey } from '../scan/window.ts'
import type { ReadWindow, RowKey, Span, StoppedAt, Window, WindowAnswer, WindowFailure } from '../scan/window.ts'
import type { Asking } from '../source/customers.ts'
import { compare, conclude, cutFrom, isExplained } from './comparison.ts'
import type { Comparison, Conclusion, Cut, ExpectedOrder, Gap } from './comparison.ts'

/** The requests that a quick run may send: for pages, for searches, and again after a failure. Where none is left, none is sent again. */
export class RequestBudget {
  left: number

  constructor(most: number) {
    this.left = most
  }

  /** Takes one; false where none is left. */
  take(): boolean {
    if (this.left < 1) return false
    this.left -= 1
    return true
  }

  /** The same question, which is asked again only within the budget. */
  limited<What, Options extends Asking, Answer>(ask: (what: What, options: Options) => Answer): typeof ask {
    return (what, options) => ask(what, { ...options, mayAskMore: () => this.take() })
  }
}

/** `pending`: rows that an earlier quick run missed at their places, and did not find elsewhere; `turn` grows from run to run. */
export type QuickScanOptions = {
  readonly expected: ExpectedOrder
  readonly budget: RequestBudget
  readonly pending?: readonly number[]
  readonly turn?: number
  readonly pageSize?: number
}

/** Pages at even distances, in a long list; a short one has fewer. */
const MOST_PROBES = 16
/** Where customers come and go in the middle of a list, so many times as many are read between them: changes may cancel out there. */
const LOOKS = 3
/** The multiples of no other number are spread as evenly. */
const GOLDEN = 0.618_033_988_75
/** How often the end of a list is looked for. */
const MOST_TRIES = 4
/** The last requests are left for searches. */
const FOR_SEARCHES = 12

/**
 * Reads as few pages as show where the list differs from the expected one, in rounds: the next one is planned when the last one was answered.
 * It proves nothing: changes that cancel out between two pages are not seen.
 *   First page 1 and the last one, then a few at even distances. Where more or fewer rows stand between two pages than expected, the page in
 * their middle. Where customers come and go in the middle of the list, the pages in the middle of the largest unread parts as well.
 */
export class QuickScan implements Scan {
  readonly #options: Required<QuickScanOptions>
  readonly #rounds: Iterator<readonly Window[], undefined>
  #round: readonly Window[] = []
  readonly #asked = new Set<string>()
  #underWay = 0
  done = false
  readonly #findings: Findings
  /** Positions before it hold rows, and where its end was met, none behind it do. */
  #reach = 0
  #isEndMet = false
  #cuts: readonly Cut[] = []
  readonly #reasons = new Set<Reason>(['quick'])
  readonly #reads = new Map<RowKey, ReadWindow>()
  #stoppedAt: StoppedAt | undefined

  constructor({ pageSize = 100, pending = [], turn = 0, ...options }: QuickScanOptions) {
    this.#options = { ...options, pageSize, pending, turn }
    this.#findings = new Findings(pageSize, false)
    this.#rounds = this.#plan()
  }

  next(free: number): Window[] {
    if (this.#underWay === 0) this.#planRound()
    const windows = this.#round.slice(0, Math.max(0, free)).filter(() => this.#options.budget.take())
    this.#round = this.#round.slice(windows.length)
    this.#underWay += windows.length
    return windows
  }

  /** Where the budget is spent, a plan that has more to ask ends. */
  #planRound(): void {
    while (!this.done && this.#round.length === 0) {
      const { value = [], done = false } = this.#rounds.next()
      this.done = done
      this.#round = value.filter((window) => !this.#asked.has(windowKey(window)))
      for (const window of this.#round) this.#asked.add(windowKey(window))
    }
    if (this.done || this.#options.budget.left > 0) return
    this.#reasons.add('request-limit')
    this.done = true
  }

  *#plan(): Generator<readonly Window[], undefined> {
    while (this.#cuts.length === 0 && this.#stoppedAt === undefined) yield [{ page: 1, size: this.#findings.size }]
    if (this.#stoppedAt !== undefined) return
    yield* this.#findEnd()
    const probes = this.#probes()
    yield probes
    let found = yield* this.#explainGaps()
    for (let looks = LOOKS; looks > 0 && found.stirs; looks -= 1) {
      yield this.#between(found, probes.length)
      found = yield* this.#explainGaps()
    }
  }

  /** Returns the list as found when no page could explain more of it. */
  *#explainGaps(): Generator<readonly Window[], Comparison> {
    for (;;) {
      const found = this.#compared()
      const questions = this.#questions(found)
      if (questions.length === 0) return found
      yield questions
    }
  }

  /** The end of the list is where the total says, which may change meanwhile. */
  *#findEnd(): Generator<readonly Window[], void> {
    for (let tries = 0; tries < MOST_TRIES && !this.#isEndMet; tries += 1) {
      const total = Math.max(this.#reach + 1, this.#findings.total ?? this.#options.expected.rowIds.length)
      yield [lastWindow(total, this.#findings.size, this.#findings.isFixed)]
    }
  }

  /** A few pages at even distances, to see changes that cancel out; `turn` shifts them from run to run. None that was read in another size. */
  #probes(): Window[] {
    const { budget, turn } = this.#options
    const { size, requests } = this.#findings
    const pages = Math.ceil(this.#reach / size)
    const count = Math.min(MOST_PROBES, Math.floor(Math.sqrt(pages) / 2), Math.floor((budget.left + requests) / 3))
    const isRead = (position: number) => this.#cuts.some(({ start, reach }) => start <= position && position < reach)
    const shares = Array.from({ length: count }, (_, index) => (index + ((turn * GOLDEN) % 1)) / count)
    const windows = shares.map((share) => windowAt(Math.floor(share * this.#reach), size))
    return windows.filter((window) => !isRead(startOf(window)))
  }

  /** At most one window for each gap, the smallest first; before all, gaps with more rows than expected: who moved there explains the other gaps. */
  #questions({ gaps }: Comparison): Window[] {
    const open = gaps.filter((gap) => !isExplained(gap) && !gap.isOneCut)
    const grown = this.#questionsOn(open.filter(({ expected, unread }) => unread > expected))
    return grown.length > 0 ? grown : this.#questionsOn(open)
  }

  /** Only as many as the requests can resolve: rather some changes found than all of them narrowed down. */
  #questionsOn(gaps: readonly Gap[]): Window[] {
    const windows: Window[] = []
    let left = this.#options.budget.left
    for (const gap of gaps.toSorted((one, other) => one.unread - other.unread)) {
      left -= Math.ceil(Math.log2(gap.unread / this.#findings.size + 1)) + 1
      if (left < 0 && windows.length > 0) break
      const window = gap.holes.length === 0 ? this.#across(gap.seam) : this.#within(gap.holes)
      if (window !== undefined) windows.push(window)
    }
    return windows
  }

  /** A window that holds the rows on both sides of a position, as many as it can; undefined where two such were asked for. */
  #across(position: number): Window | undefined {
    if (this.#findings.isFixed) return undefined
    const marginOf = (window: Window) => Math.min(position - startOf(window), startOf(window) + window.size - position)
    const windows = sizesFrom(this.#findings.size).map((size) => windowAt(position, size))
    const across = windows.filter((window) => marginOf(window) > 0)
    const fresh = across.filter((window) => !this.#asked.has(windowKey(window)))
    return across.length - fresh.length < 2 ? fresh.toSorted((a, b) => marginOf(b) - marginOf(a))[0] : undefined
  }

  /** The page in the middle of the largest hole, or where that could not be read, beside it. */
  #within(holes: readonly Span[]): Window | undefined {
    const shares = [1 / 2, 1 / 4, 3 / 4]
    const pages = largestFirst(holes).flatMap(({ from, to }) =>
      shares.map((share) => windowAt(from + share * (to - from), this.#findings.size)),
    )
    return pages.find((window) => !this.#asked.has(windowKey(window)))
  }

  /** The pages in the middle of the largest parts that are trusted. */
  #between({ gaps }: Comparison, most: number): Window[] {
    const holes = gaps.flatMap((gap) => (isExplained(gap) ? gap.holes : []))
    return largestFirst(holes)
      .slice(0, Math.max(0, Math.min(most, this.#options.budget.left - FOR_SEARCHES)))
      .flatMap((hole) => this.#within([hole]) ?? [])
  }

  read(answer: WindowAnswer): void {
    const { window, perPage, rows } = answer
    this.#underWay -= 1
    this.#findings.requests += 1
    const read = readOf(answer, this.#cuts.length)
    const { total } = read
    const [first = ''] = read.keys
    const before = this.#reads.get(first)
    // A stale cache serves the page it has under the numbers requested next.
    if (before !== undefined && repeats(before, read)) return this.#reject(window, 'repeated-page')
    this.#reads.set(first, read)
    this.#findings.observe(read, answer)
    // The first answer shows the largest page that is served.
    if (this.#cuts.length === 0) this.#findings.size = perPage
    else if (perPage !== window.size) this.#refuseSizes()
    const cut = cutFrom(read, rows, this.#options.expected)
    const isShort = rows.length < perPage
    if (rows.length > 0) this.#reach = Math.max(this.#reach, cut.reach)
    this.#isEndMet ||= (cut.isEnd && total === this.#reach) || (isShort && (total ?? 0) <= this.#reach)
    if (cut.reach < (total ?? 0) && isShort) this.#reasons.add('short-page')
    if (rows.length > 0 || cut.start === 0)
      this.#cuts = [...this.#cuts, cut].toSorted((one, other) => one.start - other.start || one.reach - other.reach)
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#underWay -= 1
    this.#findings.requests += 1
    const smaller = this.#cuts.length === 0 && failure === 'size-refused' ? sizeAfterRefusal(window.size) : undefined
    if (smaller === undefined) this.#reject(window, failure)
    if (failure === 'size-refused') this.#refuseSizes(smaller)
  }

  #refuseSizes(smaller?: number): void {
    this.#reasons.add('size-refused')
    this.#findings.isFixed = smaller === undefined
    this.#findings.size = smaller ?? this.#findings.size
  }

  /** The window stays unread; a scan that has read none has nothing to go by. */
  #reject(window: Window, failure: WindowFailure): void {
    this.#reasons.add(failure)
    if (this.#cuts.length === 0) this.#stoppedAt = { window, failure }
  }

  certificate(): Certificate {
    const { flaws, requests, seen, total, size } = this.#findings
    return {
      ...NO_PROOF,
      reasons: [...this.#reasons, ...flaws],
      ...{ requests, distinct: seen.size, total, pageSize: size },
      stoppedAt: this.#stoppedAt,
      holes: [],
    }
  }

  conclusion(): Conclusion {
    const { expected, pending } = this.#options
    const { size, total, witnesses } = this.#findings
    const orderStays = witnesses.believed(size) !== undefined
    // Without a total, a page from which one row was left out looks like the last one.
    const isEndKnown = this.#isEndMet && total !== undefined
    const known = { size, isEndKnown, orderStays, isBefore: witnesses.isBefore, pending }
    return conclude(this.#cuts, this.#compared(), expected, known)
  }

  #compared(): Comparison {
    return compare(this.#cuts, { end: this.#reach, expected: this.#options.expected.rowIds.length })
  }
}

function largestFirst(holes: readonly Span[]): Span[] {
  return holes.toSorted((one, other) => other.to - other.from - (one.to - one.from))
}

/** The window with the last of `total` rows that has the most rows without being full: it shows the end by itself. */
function lastWindow(total: number, largest: number, isFixed: boolean): Window {
  const [size = largest] = sizesFrom(largest).toSorted((one, other) => (total % other) - (total % one))
  return windowAt(total - 1, isFixed ? largest : size)
}

/** The sizes of pages down to the half of one. */
function sizesFrom(largest: number): number[] {
  return Array.from({ length: Math.floor(largest / 2) + 1 }, (_, index) => largest - index)
}
