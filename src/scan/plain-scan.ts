import { isRoundCap } from './capped-total.ts'
import { type Certificate, NO_PROOF } from './certificate.ts'
import { sizeAfterRefusal } from './plan/page-sizes.ts'
import { passCap } from './plan/planner.ts'
import type { Reason } from './reasons.ts'
import { RepeatedWindows } from './window/repeated-windows.ts'
import { type Scan, type ScanCaps, USUAL_CAPS } from './scan.ts'
import { type SeenIds, seenIds } from './seen.ts'
import {
  startOf,
  type StoppedAt,
  unlessEmptied,
  type Window,
  type WindowFailure,
  type WindowAnswer,
} from './window/window.ts'

/** A scan of page 1 to the last, each page once: the fastest way to read a list, without any proof. */
export function plainScan(options: { pageSize?: number; caps?: Partial<ScanCaps>; seen?: SeenIds } = {}): Scan {
  return new PlainScan(options)
}

/**
 * A scan is in one of five states:
 *
 *            page 1: its size and total hold        an end, or a page without which the rest is of no use
 *   sizing ─────────────────────────────▶ reading ─────────────────────────────▶ draining: pages under way arrive
 *    ▲  │                                  ▲   │                                     │
 *    └──┘ the size is refused: a smaller   └───┘ a page: counted, or a hole          │ nothing is under way
 *                                                                                    │
 *                      done ◀── looking back: page 1 once more, for its total ◀──────┤ the total promises rows that were not read
 *                       ▲                                                            │
 *                       └────────────────────────────────────────────────────────────┘ it promises none
 *
 *   sizing: #total is unknown      draining: #ended is true      looking back: #hasLookedBack is true, one page is under way
 *
 * In `sizing` one page is asked for at a time; in `reading` all up to the total at once, and beyond it one by one.
 */
class PlainScan implements Scan {
  #size: number
  #most: number
  readonly #mostEver: number
  readonly #seen: SeenIds
  readonly #repeated = new RepeatedWindows()
  readonly #reasons = new Set<Reason>(['plain-scan'])
  #planned = 0
  #underWay = 0
  #answers = 0
  #received = 0
  /** The greatest total so far, and the last one. */
  #total: number | undefined
  #lastTotal: number | undefined
  #ended = false
  #stoppedAt: StoppedAt | undefined
  /** The last page with rows has no total, or one that is too low for it: nothing says how long the list is. */
  #isCountless = true
  /** The last page with fewer rows than its size: the list may end there, whatever its total says. */
  #shortPage: number | undefined
  /** A page without rows behind a full one, where no total says that the list ends there: the next one shows whether it does. */
  #gapAt: Window | undefined
  /** A page without rows although the total promises rows there. */
  #emptyAt: Window | undefined
  /** Page 1 was requested again: its total shows whether the list now ends before the page that could not be read. */
  #hasLookedBack = false

  constructor({ pageSize = 100, caps = {}, seen = seenIds() }: Parameters<typeof plainScan>[0] & object) {
    this.#size = pageSize
    this.#mostEver = caps.requests ?? USUAL_CAPS.requests
    this.#most = this.#mostEver
    this.#seen = seen
  }

  next(free: number): Window[] {
    const windows: Window[] = []
    while (windows.length < free && this.#mayAsk()) {
      this.#planned += 1
      this.#underWay += 1
      windows.push({ page: this.#planned, size: this.#size })
    }
    if (free > 0 && this.#mustLookBack()) {
      this.#hasLookedBack = true
      this.#underWay += 1
      windows.push({ page: 1, size: this.#size })
    }
    return windows
  }

  /** Up to the total at once; beyond it, and before it is known, one page at a time. */
  #mayAsk(): boolean {
    if (this.#ended) return false
    if (this.#underWay > 0 && this.#planned * this.#size >= (this.#total ?? 0)) return false
    // Where no total says how long the list is, the limit follows what was read.
    const most = this.#isCountless ? Math.max(this.#most, passCap(this.#seen.size, this.#size)) : this.#most
    if (this.#planned < Math.min(this.#mostEver, most)) return true
    this.#stopAt({ page: this.#planned + 1, size: this.#size }, 'page-cap')
    this.#reasons.add('page-cap')
    return false
  }

  read(answer: WindowAnswer): void {
    this.#arrived()
    const read = unlessEmptied(answer, this.#received)
    // Pages of another size stand at other positions: rows in between would be on no page.
    if (this.#total !== undefined && read.perPage !== read.window.size)
      return this.#stopAt(read.window, 'page-mismatch')
    if (this.#total === undefined) {
      this.#size = Math.max(1, Math.min(read.perPage, this.#size))
      this.#most = Math.min(this.#most, passCap(read.total ?? 0, this.#size))
    }
    if (this.#repeated.isRepeated(placed(read))) return this.#failedFor(read.window, 'repeated-page')
    this.#total = Math.max(read.total ?? 0, this.#total ?? 0)
    this.#lastTotal = read.total ?? this.#lastTotal
    this.#received += read.rows.length
    for (const row of read.rows) this.#seen.add(row)
    if (read.rows.length === 0) this.#takeEmpty(read)
    else this.#takeRows(read)
    if (read.window.page * this.#size === read.total && !isRoundCap(read.total)) this.#ended = true
  }

  #takeRows({ window, rows, total = -1 }: WindowAnswer): void {
    this.#isCountless = total < startOf(window) + rows.length
    if (this.#gapAt !== undefined) this.#stopAt(this.#gapAt, 'not-found')
    if (rows.length >= this.#size) return
    this.#shortPage = window.page
    // No other page is known to be the last one: the service may serve fewer rows than the size it states, or leave one out.
    if (!this.#isCountless && window.page * this.#size >= total) this.#ended = true
  }

  #takeEmpty({ window, total, beyondEnd }: WindowAnswer): void {
    if (total !== undefined && startOf(window) < total) {
      this.#reasons.add('short-page')
      this.#emptyAt ??= window
    }
    const isPromised = beyondEnd ? !this.#isCountless : window.page > 1
    const mayBeGap = this.#isCountless && window.page > 1 && !this.#isBehindShort(window) && this.#gapAt === undefined
    if (total === undefined && isPromised) this.#stopAt(window, 'not-found')
    else if (mayBeGap) this.#gapAt = window
    else this.#ended = true
  }

  #isBehindShort({ page }: Window): boolean {
    return this.#shortPage === page - 1
  }

  failed(window: Window, failure: WindowFailure): void {
    this.#arrived()
    const smaller = failure === 'size-refused' && this.#total === undefined ? sizeAfterRefusal(window.size) : undefined
    if (smaller === undefined) return this.#failedFor(window, failure)
    this.#size = smaller
    this.#planned = 0
  }

  #failedFor(window: Window, failure: WindowFailure): void {
    // The total promises no rows there, and a service may refuse the page in any way.
    if (isRoundCap(this.#total ?? 0) && startOf(window) === this.#total) {
      this.#ended = true
      return
    }
    this.#reasons.add(failure)
    const isRefusal = failure === 'size-refused' || failure === 'page-mismatch' || failure === 'repeated-page'
    if (isRefusal && this.#isCountless && this.#isBehindShort(window)) {
      this.#ended = true
      return
    }
    const isOfOnePage = failure === 'hole' || failure === 'cached-answer' || failure === 'too-large'
    if (!isOfOnePage || this.#total === undefined) this.#stopAt(window, failure)
  }

  #stopAt(window: Window, failure: StoppedAt['failure']): void {
    this.#ended = true
    this.#stoppedAt ??= { window, failure }
  }

  /** The window that could not be read although the list, by its last total, has rows there, or no total says that it has none. */
  get #unread(): StoppedAt | undefined {
    const at = this.#stoppedAt ?? this.#emptyBehindFull
    if (at === undefined || at.failure === 'page-cap' || this.#isCountless) return at
    return startOf(at.window) < (this.#lastTotal ?? 0) ? at : undefined
  }

  /** Full pages followed by an empty one: a list rarely ends exactly at the end of a page. */
  get #emptyBehindFull(): StoppedAt | undefined {
    if (this.#emptyAt === undefined || this.#shortPage !== undefined || this.#received === 0) return undefined
    return { window: this.#emptyAt, failure: 'not-found' }
  }

  #mustLookBack(): boolean {
    const mayShrink = this.#ended && this.#underWay === 0 && !this.#hasLookedBack && this.#lastTotal !== undefined
    return mayShrink && this.#unread !== undefined
  }

  get done(): boolean {
    return this.#ended && this.#underWay === 0 && !this.#mustLookBack()
  }

  /** Nothing: pages that share no row show no order of the whole list. */
  get order() {
    return {}
  }

  certificate(): Certificate {
    return {
      ...NO_PROOF,
      reasons: this.done ? [...this.#reasons] : ['interrupted', ...this.#reasons],
      notes: [],
      requests: this.#answers,
      distinct: this.#seen.size,
      total: this.#total,
      pageSize: this.#size,
      stoppedAt: this.done ? this.#unread : undefined,
      empty: this.done && this.#answers > 0 && this.#received === 0,
      holes: [],
    }
  }

  #arrived(): void {
    this.#underWay -= 1
    this.#answers += 1
  }
}

function placed({ window, perPage, total, rows }: WindowAnswer) {
  return { start: startOf({ page: window.page, size: perPage }), total, all: rows }
}
