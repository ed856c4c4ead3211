import { setImmediate as nextTurn } from 'node:timers/promises'
import { factsOf } from '../errors/errors.ts'
import type { Window } from '../model/page.ts'
import { turnWithTime } from '../machine/timers.ts'
import { PROCESS_BUDGET, type Room, type Share, whenRoomy } from './byte-budget.ts'
import { refusingCachedAnswers } from './cached-answers.ts'
import { type CustomersPage, LARGEST_SIZE, pageIn, type Question, refuseUnencrypted } from './customers-page.ts'
import { type Asking, RateLimit } from './rate-limit.ts'
import { Retry } from './retry.ts'
import { signedRequests, type SourceOptions } from './signed-requests.ts'

export type { CustomersPage } from './customers-page.ts'
export type { CutRecords } from './cut-page.ts'
export type { Asking, Stopping } from './rate-limit.ts'
export type { SourceEvent, SourceOptions } from './signed-requests.ts'

/** The customers of one organization, as its service lists them. */
export type Source = ReturnType<typeof openSource>

type ReadOptions = Asking & {
  /** Called when the answer has arrived, before it is processed. */
  onAnswered?: (() => void) | undefined
}

/** A firewall that drops a search for its text drops it again. */
const MOST_SEARCH_RETRIES = 1

/** A page is one signed request, wrapped in the retry, then in the correction of the clock, and then in the refusal of cached answers. */
export function openSource(options: SourceOptions) {
  const { settings, monotonicMs, sleep, budget = PROCESS_BUDGET } = options
  refuseUnencrypted(settings.baseUrl)
  const rateLimit = options.rateLimit ?? new RateLimit({ ...settings, monotonicMs, sleep })
  const requests = signedRequests(options, rateLimit)
  const retry = new Retry({ ...options, ...settings, rateLimit })
  const refuseCached = refusingCachedAnswers({ ...options, requests, rateLimit })
  const rooms = new Set<Room>()
  const share: Share = { bytes: 0 }

  async function read(question: Question, { onAnswered, ...asking }: ReadOptions): Promise<CustomersPage> {
    const { signal } = asking
    const room = budget.open(share)
    const release = () => {
      rooms.delete(room)
      room.close()
    }
    rooms.add(room)
    try {
      const { answer, place } = await requests.askOnTime(retry, question, { ...asking, room })
      await refuseCached(answer, place, asking)
      onAnswered?.()
      await afterOthers(room, signal, monotonicMs)
      return { ...pageIn(answer, question, place), release }
    } catch (error) {
      release()
      throw error
    }
  }

  return {
    /** Reads one page, waiting and asking again within the budgets. Rejects with the reason of the signal that aborts. */
    readPage: ({ page, size }: Window, reading: ReadOptions) =>
      read({ page, size: Math.min(size, LARGEST_SIZE) }, reading),
    /** The first page, of `size` customers, of those that match a text; retried like readPage, but once where the text may be why it fails. */
    async search(search: string, { size, mayAskMore, ...stopping }: Asking & { size: number }): Promise<CustomersPage> {
      let failures = 0
      const mayRetry = (refusal: unknown) => {
        if (factsOf(refusal).askAgain === 'retry') failures += 1
        return failures <= MOST_SEARCH_RETRIES && mayAskMore?.(refusal) !== false
      }
      const answered = await read({ page: 1, size, search }, { ...stopping, mayAskMore: mayRetry })
      answered.release?.()
      return answered
    },
    get counters(): { requests: number; throttled: number; waitedMs: number } {
      return { ...requests.counters, waitedMs: retry.waitedMs }
    },
    /** Milliseconds the service's clock is ahead of ours, to about a second; undefined until an answer shows it. */
    get clockOffsetMs(): number | undefined {
      return requests.clock.offsetMs
    },
    /** Milliseconds added to our clock when signing. 0 until a refusal showed that it is needed. */
    get clockCorrectionMs(): number {
      return requests.clock.correctionMs
    },
    /** Releases the memory of all pages. Call it after all requests have ended. */
    close(): void {
      for (const room of rooms) room.close()
    },
  }
}

/**
 * After all that can happen in this turn of the event loop, when there are room and time for a page: answers that come together are each followed
 * by their next request before any is parsed, as soon as their connections are free. Pages get room together; each needs time, too.
 */
async function afterOthers(room: Room, signal: AbortSignal, monotonicMs: () => number): Promise<void> {
  await nextTurn()
  do {
    await whenRoomy(room, signal)
    await turnWithTime(monotonicMs)
    signal.throwIfAborted()
  } while (!room.mayGoOn)
}
