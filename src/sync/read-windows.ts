/*
 * A reading is in one of four states. Windows are asked for in the first two:
 *
 *               a page arrives
 *   waiting ──────────────────────▶ holding
 *      ▲                               │  enough pages to save together, one held for long, nothing came for a moment,
 *      └────── pages go to `save` ─────┘  or a place is free: then the scan needs these pages to name the next window
 *
 *   waiting, holding ── a stop, or an error that is not of one window ──▶ failed: what is under way arrives and is saved
 *   waiting, holding, failed ────────── a save fails ───────────────────▶ spoiled: what still arrives is dropped
 *
 * While pages are saved, the next ones are held, and windows are asked for as in `holding`.
 *
 * It ends well in `waiting` once the scan is done; `failed` and `spoiled` throw once nothing is under way.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Scan } from '../scan/scan.ts'
import type { Window } from '../scan/window.ts'
import type { Stopping } from '../source/customers.ts'
import { turnWithTime } from '../machine/timers.ts'
import { windowFailureOf } from '../errors/errors.ts'
import type { ReadPage } from './sorting/sort-page.ts'

export type Reading = {
  scan: Scan
  /** `onAnswered` may be called before the page is ready: then the service has time for the next. */
  readPage: (window: Window, options: Stopping & { onAnswered: () => void }) => Promise<ReadPage>
  /** Windows the service is asked for at once. May change while it reads. */
  readonly concurrency: number
  /** Pages that come faster than they can be saved are saved so many together, which takes less time a page. */
  savedTogether: number
  /** Aborting it ends the reading in good order: requests under way are given a moment, waits are not. */
  stop: AbortSignal
  monotonicMs: () => number
}

/** A window that was asked for, and the page that answered. */
type Arrival = { window: Window; page: ReadPage }

/** Calls `onWaiting` once it only waits. */
export type Save = (arrivals: Arrival[], onWaiting: () => void) => Promise<void>

/** No page is held longer than this, however few have come: many readings may run in this process at once. */
const LONGEST_HOLD_MS = 150

/** How long a request that is under way may take once the reading was asked to stop. */
const GRACE_MS = 5000

/** Windows that may fail in a row before the service is taken to be down. Bisecting a page down to one poison row in a corner takes five. */
const MOST_FAILURES_IN_A_ROW = 12
const MOST_FAILURES_AT_FIRST = 6

/** Asks for the windows of a scan, several at once, and hands pages that came together to `save`: all that arrived, whatever ends it early. */
export class WindowReading {
  /** Pages that wait to be saved, and since when; none in `waiting` and `spoiled`. */
  readonly #held: Arrival[] = []
  #heldSinceMs = 0
  /** What ends the reading, in `failed` and `spoiled`. */
  #failure: { error: unknown } | undefined
  #isSpoiled = false
  readonly #underWay = new Set<Promise<void>>()
  /** How many of the windows under way are not answered yet. */
  #asking = 0
  readonly #events = new EventWait()
  #hasAnswered = false
  #failuresInARow = 0
  /** The error that began them. */
  #firstFailure: unknown
  /** The first ends waits, the second requests, a moment later. Plain signals: a combined one looks at all of its parts each time. */
  readonly #waits = new AbortController()
  readonly #requests = new AbortController()
  #grace: NodeJS.Timeout | undefined
  readonly #reading: Reading
  readonly #save: Save

  constructor(reading: Reading, save: Save) {
    this.#reading = reading
    this.#save = save
  }

  async run(): Promise<void> {
    const { scan, stop } = this.#reading
    if (stop.aborted) this.#endSoon()
    stop.addEventListener('abort', this.#endSoon, { once: true })
    try {
      while (!scan.done && this.#failure === undefined) {
        this.#waits.signal.throwIfAborted()
        await (this.#held.length > 0 ? this.#goOnHolding() : this.#goOnWaiting())
      }
      if (this.#failure !== undefined) throw this.#failure.error
    } catch (error) {
      this.#fail(error)
      if (!stop.aborted) this.#endNow()
      await Promise.allSettled(this.#underWay)
      await this.#savePages()
      throw error
    } finally {
      this.#events.dispose()
      clearTimeout(this.#grace)
      stop.removeEventListener('abort', this.#endSoon)
    }
  }

  readonly #endSoon = () => {
    this.#waits.abort(this.#reading.stop.reason)
    this.#grace = setTimeout(() => this.#endNow(), GRACE_MS)
  }

  /** With the reason of the stop: it says whether the next run may go on. */
  #endNow(): void {
    this.#waits.abort(this.#reading.stop.reason)
    this.#requests.abort(this.#reading.stop.reason)
  }

  async #goOnWaiting(): Promise<void> {
    this.#askForMore()
    if (this.#underWay.size > 0) await this.#events.next()
    else if (!this.#reading.scan.done)
      throw new Error('The scan is not done, and asks for nothing. This is a defect of Customer Mirror.')
  }

  async #goOnHolding(): Promise<void> {
    const { concurrency, savedTogether, monotonicMs } = this.#reading
    const isLong = monotonicMs() - this.#heldSinceMs >= LONGEST_HOLD_MS
    if (concurrency === 1 || this.#held.length >= savedTogether || isLong) return await this.#savePages()
    this.#askForMore()
    if (this.#asking < concurrency) {
      // Until everything is here that came together.
      if (this.#underWay.size > 0) await nextTurn()
      await this.#savePages()
    } else if (!(await this.#events.next({ orQuiet: true }))) await this.#savePages()
  }

  #askForMore(): void {
    const free = Math.max(0, this.#reading.concurrency - this.#asking)
    for (const window of this.#reading.scan.next(free)) this.#ask(window)
  }

  #ask(window: Window): void {
    let isAsking = true
    this.#asking += 1
    const answered = () => {
      if (isAsking) this.#asking -= 1
      isAsking = false
      this.#events.notify()
    }
    // One at a time means that each is saved before the next is asked for.
    const onAnswered = this.#reading.concurrency === 1 ? () => {} : answered
    const settled = this.#reading
      .readPage(window, { signal: this.#requests.signal, stop: this.#waits.signal, onAnswered })
      .then(
        (page) => this.#hold({ window, page }),
        (error: unknown) => this.#judge(window, error),
      )
      .catch((defect: unknown) => this.#fail(defect))
      .finally(() => {
        this.#underWay.delete(settled)
        answered()
      })
    this.#underWay.add(settled)
  }

  #hold(arrival: Arrival): void {
    this.#answered()
    if (this.#isSpoiled) return
    if (this.#held.length === 0) this.#heldSinceMs = this.#reading.monotonicMs()
    this.#held.push(arrival)
  }

  /** Takes an error for one of its window alone, or for the end of the reading. */
  #judge(window: Window, error: unknown): void {
    const { scan } = this.#reading
    const failure = windowFailureOf(error)
    // Whatever caches answers in between is up, and a service that refuses a page is.
    if (failure === 'cached-answer' || failure === 'size-refused') this.#answered()
    else {
      this.#failuresInARow += 1
      this.#firstFailure ??= error
    }
    if (failure === undefined) return this.#fail(error)
    const isDown = this.#failuresInARow > (this.#hasAnswered ? MOST_FAILURES_IN_A_ROW : MOST_FAILURES_AT_FIRST)
    if (isDown) return this.#fail(this.#firstFailure)
    scan.failed(window, failure)
    if (scan.done && !this.#hasAnswered) this.#fail(this.#firstFailure)
  }

  #answered(): void {
    this.#hasAnswered = true
    this.#failuresInARow = 0
    this.#firstFailure = undefined
  }

  /** The first error is the one to end with. */
  #fail(error: unknown): void {
    this.#failure ??= { error }
  }

  async #savePages(): Promise<void> {
    await turnWithTime(this.#reading.monotonicMs)
    const pages = this.#held.splice(0)
    if (pages.length === 0) return
    const waiting = Promise.withResolvers<void>()
    const saving = this.#save(pages, waiting.resolve)
    const [saved, asked] = await Promise.allSettled([saving, this.#askDuring(saving, waiting.promise)])
    if (saved.status === 'rejected') {
      // What comes later is not judged by the same rules any more.
      this.#isSpoiled = true
      this.#held.length = 0
      throw saved.reason
    }
    if (asked.status === 'rejected') throw asked.reason
  }

  /** Asks for more while a save only waits: before, the next pages would keep those from being sent to a server, which has nothing to do. */
  async #askDuring(saving: Promise<void>, waiting: Promise<void>): Promise<void> {
    const { concurrency, savedTogether, scan } = this.#reading
    if (concurrency === 1) return
    const ended = Promise.allSettled([saving]).then(() => true)
    // A save into a file has ended by then.
    let hasEnded = await Promise.race([ended, waiting.then(() => false)])
    while (!hasEnded && !this.#waits.signal.aborted && !scan.done && this.#failure === undefined) {
      if (this.#held.length < savedTogether) this.#askForMore()
      hasEnded = await Promise.race([ended, this.#events.next().then(() => false)])
    }
  }
}

/** Without an event for so long, there is time for something else. */
const QUIET_MS = 2

/** Lets one reader wait for the next event, or until there was none for a moment. */
class EventWait {
  notify: () => void = () => {}
  #onQuiet: () => void = () => {}
  /** Started anew rather than made anew: a page is waited for several times. */
  #quiet: NodeJS.Timeout | undefined

  /** True for an event; false when it was quiet first, if `orQuiet`. */
  next({ orQuiet = false } = {}): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.notify = () => resolve(true)
    this.#onQuiet = orQuiet ? () => resolve(false) : () => {}
    if (orQuiet) this.#quiet = this.#quiet?.refresh() ?? setTimeout(() => this.#onQuiet(), QUIET_MS)
    return promise
  }

  dispose(): void {
    clearTimeout(this.#quiet)
  }
}
