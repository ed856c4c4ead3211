import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Scan } from '../scan/scan.ts'
import type { Window } from '../scan/window.ts'
import type { CustomersPage, Stopping } from '../source/customers.ts'
import { windowFailureOf } from '../window-failure.ts'

export type Reading<Page = CustomersPage> = {
  scan: Scan
  /** `onAnswered` may be told before the page is ready: then the service has time for the next. */
  readPage: (window: Window, options: Stopping & { onAnswered: () => void }) => Promise<Page>
  /** Windows the service is asked for at once. */
  concurrency: number
  /** Pages that come faster than they can be saved are saved so many together, which takes less time a page. */
  savedTogether: number
  /** Aborting it ends the reading in good order: requests under way are given a moment, waits are not. */
  stop: AbortSignal
  /** Aborting it ends the reading at once. */
  abort: AbortSignal
  monotonicMs: () => number
}

/** A window that was asked for, and the page that answered. */
export type Arrival<Page = CustomersPage> = { window: Window; page: Page }

/** How long a request that is under way may take once the reading was asked to stop. */
const GRACE_MS = 5000

/** Pages are handed over when nothing has arrived for a moment: there is time for it then. */
const QUIET_MS = 2
/** None waits longer than this, however few have come: many at once may be reading in this process. */
const LONGEST_HOLD_MS = 150

/**
 * Windows that may fail one after another before the service is taken to be down, whatever it says of each. Narrowing a
 * page down to one poison row in a corner of it takes five.
 */
const MOST_FAILURES_IN_A_ROW = 12
const MOST_FAILURES_AT_FIRST = 6

/**
 * Asks for the windows the scan names, several at once, until it is done, and hands pages that have arrived together to
 * `save`. Whatever ends it early, every page that arrived was handed over before it throws.
 */
export async function readWindows<Page>(
  reading: Reading<Page>,
  save: (arrivals: Arrival<Page>[]) => Promise<void>,
): Promise<void> {
  const { scan, readPage, concurrency, savedTogether, stop, abort, monotonicMs } = reading
  const isOneByOne = concurrency === 1
  const ending = endingOf(stop, abort)
  const outages = countOutages()
  const underWay = new Set<Promise<void>>()
  /** Windows that are asked for and not answered yet. */
  let asking = 0
  let arrivals: Arrival<Page>[] = []
  const fatal: unknown[] = []
  let saveFailed = false
  let heldSinceMs = monotonicMs()
  let wake: () => void = () => {}

  const ask = (window: Window) => {
    let isAsking = true
    asking += 1
    const answered = () => {
      if (isAsking) asking -= 1
      isAsking = false
      wake()
    }
    // One at a time means that each is saved before the next is asked for.
    const onAnswered = isOneByOne ? () => {} : answered
    const settled = readPage(window, { signal: ending.signal, stop: ending.stop, onAnswered })
      .then(
        (page) => {
          if (arrivals.length === 0) heldSinceMs = monotonicMs()
          arrivals.push({ window, page })
          outages.answered()
        },
        (error: unknown) => {
          const failure = windowFailureOf(error)
          // Whatever caches answers in between is up, and so may the service be.
          if (failure === 'cached-answer') outages.answered()
          else outages.failed(error)
          if (failure === undefined) fatal.push(error)
          else if (outages.isDown) fatal.push(outages.first)
          else scan.failed(window, failure)
          if (scan.done && !outages.hasAnswered) fatal.push(outages.first)
        },
      )
      .catch((defect: unknown) => {
        fatal.push(defect)
      })
      .finally(() => {
        underWay.delete(settled)
        answered()
      })
    underWay.add(settled)
  }
  const saveArrivals = async () => {
    const arrived = arrivals
    arrivals = []
    if (arrived.length === 0 || saveFailed) return
    // Once a save has failed, what comes later is not judged by the same rules any more.
    saveFailed = true
    await save(arrived)
    saveFailed = false
  }
  /** Started anew rather than made anew: a page is waited for several times. */
  let quiet: NodeJS.Timeout | undefined
  let onQuiet: () => void = () => {}
  /** Whether anything came of what is under way, before it was quiet for a moment; without `untilQuiet`, whenever it comes. */
  const news = async ({ untilQuiet }: { untilQuiet: boolean }) => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    wake = () => resolve(true)
    onQuiet = untilQuiet ? () => resolve(false) : () => {}
    if (untilQuiet) quiet = quiet?.refresh() ?? setTimeout(() => onQuiet(), QUIET_MS)
    return await promise
  }

  try {
    while (fatal.length === 0 && !scan.done) {
      ending.stop.throwIfAborted()
      const heldMs = monotonicMs() - heldSinceMs
      const mayHold = !isOneByOne && arrivals.length < savedTogether && heldMs < LONGEST_HOLD_MS
      if (mayHold || arrivals.length === 0) {
        for (const window of scan.next(concurrency - asking)) ask(window)
      }
      // With a place free although more might be asked for, the scan waits to be told what has arrived.
      if (arrivals.length > 0 && (!mayHold || asking < concurrency)) {
        // Until everything is here that came together.
        if (mayHold && underWay.size > 0) await nextTurn()
        await saveArrivals()
      } else if (underWay.size > 0) {
        if (!(await news({ untilQuiet: arrivals.length > 0 }))) await saveArrivals()
      } else if (!scan.done)
        throw new Error('The scan is not done, and asks for nothing. This is a defect of Customer Mirror.')
    }
    if (fatal.length > 0) throw fatal[0]
  } catch (error) {
    if (!stop.aborted) ending.endNow()
    await Promise.allSettled(underWay)
    await saveArrivals()
    throw error
  } finally {
    clearTimeout(quiet)
    ending.dispose()
  }
}

/** Tells windows that fail from a service that is down: then the error that began it is the one to be told. */
function countOutages() {
  let failuresInARow = 0
  let first: unknown
  let hasAnswered = false
  return {
    get first() {
      return first
    },
    get hasAnswered() {
      return hasAnswered
    },
    get isDown() {
      return failuresInARow > (hasAnswered ? MOST_FAILURES_IN_A_ROW : MOST_FAILURES_AT_FIRST)
    },
    answered() {
      hasAnswered = true
      failuresInARow = 0
      first = undefined
    },
    failed(error: unknown) {
      failuresInARow += 1
      first ??= error
    },
  }
}

/** The two signals of a reading: `stop` ends waiting, `signal` ends requests too, a moment later. */
function endingOf(stop: AbortSignal, abort: AbortSignal) {
  const end = new AbortController()
  let grace: NodeJS.Timeout | undefined
  const endNow = () => {
    end.abort(abort.reason)
  }
  const endSoon = () => {
    grace = setTimeout(endNow, GRACE_MS)
  }
  if (stop.aborted) endSoon()
  if (abort.aborted) endNow()
  stop.addEventListener('abort', endSoon, { once: true })
  abort.addEventListener('abort', endNow, { once: true })
  return {
    signal: end.signal,
    stop: AbortSignal.any([stop, end.signal]),
    endNow,
    dispose() {
      clearTimeout(grace)
      stop.removeEventListener('abort', endSoon)
      abort.removeEventListener('abort', endNow)
    },
  }
}
