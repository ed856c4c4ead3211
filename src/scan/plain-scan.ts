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
  /** A page with fewer rows than its size: the list may end there, whatever its total says. */
  #hasShortPage = false
  /** A page without rows although the total promises rows there. */
  #emptyAt: Window | undefined
  /** Page 1 was requested again: its total shows whether the list now ends before the page that could not be read. */
  #hasLookedBack = false

  constructor({ pageSize = 100, caps = {}, seen = seenIds() }: Parameters<typeof plainScan>[0] & object) {
    this.#size = pageSize
    this.#most = caps.requests ?? USUAL_CAPS.requests
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
    if (this.#planned < this.#most) return true
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
    if (read.rows.length < this.#size && read.window.page * this.#size >= (read.total ?? 0)) this.#ended = true
    if (read.rows.length === 0) this.#ended = true
    if (read.rows.length > 0 && read.rows.length < this.#size) this.#hasShortPage = true
    if (read.rows.length === 0 && startOf(read.window) < (read.total ?? 0)) {
      this.#reasons.add('short-page')
      this.#emptyAt ??= read.window
    }
    if (read.beyondEnd && read.total === undefined) this.#stopAt(read.window, 'not-found')
    if (read.window.page * this.#size === read.total && !isRoundCap(read.total)) this.#ended = true
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
    const isOfOnePage = failure === 'hole' || failure === 'cached-answer' || failure === 'too-large'
    if (!isOfOnePage || this.#total === undefined) this.#stopAt(window, failure)
  }

  #stopAt(window: Window, failure: StoppedAt['failure']): void {
    this.#ended = true
    this.#stoppedAt ??= { window, failure }
  }

  /** The window that could not be read although the list, by its last total, has rows there. */
  get #unread(): StoppedAt | undefined {
    const at = this.#stoppedAt ?? this.#emptyBehindFull
    return at !== undefined && startOf(at.window) < (this.#lastTotal ?? 0) ? at : undefined
  }

  /** Full pages followed by an empty one: a list rarely ends exactly at the end of a page. */
  get #emptyBehindFull(): StoppedAt | undefined {
    if (this.#emptyAt === undefined || this.#hasShortPage || this.#received === 0) return undefined
    return { window: this.#emptyAt, failure: 'not-found' }
  }

  #mustLookBack(): boolean {
    return this.#ended && this.#underWay === 0 && !this.#hasLookedBack && this.#unread !== undefined
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
