import type { Scan } from './scan/scan.ts'
import type { Window } from './scan/window.ts'
import type { CustomersPage, Source } from './source/customers.ts'
import { windowFailureOf } from './window-failure.ts'

export type Reading = {
  scan: Scan
  readPage: Source['readPage']
  /** Windows asked for at once. */
  concurrency: number
  /** Aborting it ends the reading in good order: requests under way are given a moment, waits are not. */
  stop: AbortSignal
  /** Aborting it ends the reading at once. */
  abort: AbortSignal
}

/** A window that was asked for, and the page that answered. */
export type Arrival = { window: Window; page: CustomersPage }

/** How long a request that is under way may take once the reading was asked to stop. */
const GRACE_MS = 5000

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
export async function readWindows(reading: Reading, save: (arrivals: Arrival[]) => Promise<void>): Promise<void> {
  const { scan, readPage, concurrency, stop, abort } = reading
  const ending = endingOf(stop, abort)
  const underWay = new Set<Promise<void>>()
  let arrivals: Arrival[] = []
  let failuresInARow = 0
  let firstFailure: unknown
  let answered = false
  const hasAnswered = () => answered || arrivals.length > 0

  const ask = (window: Window) => {
    const settled = readPage(window, ending)
      .then(
        (page) => {
          failuresInARow = 0
          firstFailure = undefined
          arrivals.push({ window, page })
        },
        (error: unknown) => {
          const failure = windowFailureOf(error)
          failuresInARow += 1
          firstFailure ??= error
          const most = hasAnswered() ? MOST_FAILURES_IN_A_ROW : MOST_FAILURES_AT_FIRST
          if (failure === undefined) throw error
          if (failuresInARow > most) throw firstFailure
          scan.failed(window, failure)
          if (scan.done && !hasAnswered()) throw firstFailure
        },
      )
      .finally(() => underWay.delete(settled))
    underWay.add(settled)
  }
  const saveArrivals = async () => {
    const arrived = arrivals
    arrivals = []
    answered ||= arrived.length > 0
    if (arrived.length > 0) await save(arrived)
  }

  try {
    while (!scan.done) {
      ending.stop.throwIfAborted()
      for (const window of scan.next(concurrency - underWay.size)) ask(window)
      if (underWay.size > 0) await Promise.race(underWay)
      await saveArrivals()
    }
  } catch (error) {
    if (!stop.aborted) ending.endNow()
    await Promise.allSettled(underWay)
    await saveArrivals()
    throw error
  } finally {
    ending.dispose()
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
