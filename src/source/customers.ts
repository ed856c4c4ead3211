import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Sleep, turnWithTime } from '../machine/timers.ts'
import { factsOf } from '../errors/errors.ts'
import { type ByteBudget, PROCESS_BUDGET, type Room, whenRoomy } from './connection/byte-budget.ts'
import { createCachedAnswers } from './cached-answers.ts'
import { createClock, type Clock } from './clock/clock.ts'
import { type CustomersPage, pageIn } from './page/customers-page.ts'
import {
  customersAt,
  type CustomersList,
  LARGEST_SIZE,
  type Question,
  refuseImpossible,
  refuseUnencrypted,
  type Window,
} from './customers-url.ts'
import type { IdleAgents } from './connection/idle-agents.ts'
import { type Asking, createRateLimit, type RateLimit } from './pace/rate-limit.ts'
import { createRetry, type WaitingEvent, type Retry } from './pace/retry.ts'
import type { SourceSettings } from './settings.ts'
import { SignedRequests } from './signed-requests.ts'
import type { Credentials } from './signing/signing.ts'
import { isUnauthorized } from './refusal.ts'

export type { CustomersPage } from './page/customers-page.ts'
export type { CutRecords } from './page/cut-records.ts'
export type { Asking, Stopping } from './pace/rate-limit.ts'

/** The customers of one organization, as its service lists them. */
export type Source = {
  /** Reads one page, waiting and asking again within the budgets. Rejects with the reason of the signal that aborts. */
  readPage(window: Window, options: ReadOptions): Promise<CustomersPage>
  /** The first page, of `size` customers, of those that match a text; retried like readPage, but once where the text may be why it fails. */
  search(text: string, options: Asking & { size: number }): Promise<CustomersPage>
  /** One request for the first page of that size, signed by the service's clock if the first one was refused for its time. Never waits. */
  probe(size: number, options: { signal: AbortSignal }): Promise<CustomersPage>
  readonly counters: { requests: number; throttled: number; waitedMs: number }
  /** Milliseconds the service's clock is ahead of ours, to about a second; undefined until an answer shows it. */
  readonly clockOffsetMs: number | undefined
  /** Milliseconds added to our clock when signing. 0 until a refusal showed that it is needed. */
  readonly clockCorrectionMs: number
  /** Ends every connection, or returns them to the idle ones. Call it after all requests have ended. */
  close(): Promise<void>
}

/** A firewall that drops a search for its text drops it again. */
const MOST_SEARCH_RETRIES = 1

type ReadOptions = Asking & {
  /** Called when the answer has arrived, before it is processed. */
  onAnswered?: (() => void) | undefined
}

/**
 * A page is requested by a signed request. It is wrapped in the correction of the clock, then in the retry, and then in the refusal
 * of cached answers.
 */
export function openSource(options: SourceOptions): Source {
  const { settings, now, monotonicMs, random, sleep, onEvent } = options
  refuseUnencrypted(settings.baseUrl)
  const list = customersAt(settings.baseUrl)
  const clock = createClock()
  const rateLimit = options.rateLimit ?? createRateLimit({ ...settings, monotonicMs, sleep })
  const requests = new SignedRequests({ ...options, list, clock, rateLimit })
  const retry = createRetry({ ...settings, rateLimit, now, monotonicMs, random, sleep, onEvent })
  const correction = { clock, now, monotonicMs, onEvent }
  const corrected = withClockCorrection(retry, correction)
  const ask = (question: Question, signal: AbortSignal) => requests.send(question, { signal })
  const cachedAnswers = createCachedAnswers({ clock, rateLimit, monotonicMs, ask })
  const rooms = (options.budget ?? PROCESS_BUDGET).share()

  async function read(question: Question, { onAnswered, ...stopping }: ReadOptions): Promise<CustomersPage> {
    const { signal } = stopping
    const room = rooms.open()
    try {
      const answer = await corrected.ask(() => requests.ask(question, { signal, room }), stopping)
      const place = list.placeOf(question)
      await cachedAnswers.refuse(answer, place, stopping)
      onAnswered?.()
      await afterOthers({ room, signal, monotonicMs })
      return { ...pageIn(answer, question, place), release: () => room.release() }
    } catch (error) {
      room.release()
      throw error
    }
  }

  return {
    async readPage({ page, size }, reading) {
      refuseImpossible({ page, size })
      return { ...(await read({ page, size: Math.min(size, LARGEST_SIZE) }, reading)), askedSize: size }
    },
    async search(search, { size, mayAskMore, ...stopping }) {
      let failures = 0
      const mayRetry = (refusal: unknown) => {
        if (factsOf(refusal).askAgain === 'retry') failures += 1
        return failures <= MOST_SEARCH_RETRIES && mayAskMore?.(refusal) !== false
      }
      const answered = await read({ page: 1, size, search }, { ...stopping, mayAskMore: mayRetry })
      answered.release?.()
      return answered
    },
    probe: (size, { signal }) => probeBy(requests, list, { size, signal, correction }),
    get counters() {
      return { ...requests.counters, waitedMs: retry.waitedMs }
    },
    get clockOffsetMs() {
      return clock.offsetMs
    },
    get clockCorrectionMs() {
      return clock.correctionMs
    },
    close() {
      rooms.releaseAll()
      return requests.close()
    },
  }
}

type Probing = { size: number; signal: AbortSignal; correction: Parameters<typeof withClockCorrection>[1] }

async function probeBy(
  requests: SignedRequests,
  list: CustomersList,
  { size, signal, correction }: Probing,
): Promise<CustomersPage> {
  const question = { page: 1, size }
  const once = withClockCorrection({ ask: (attempt) => attempt() }, correction)
  const answer = await once.ask(() => requests.ask(question, { signal }), { signal })
  return pageIn(answer, question, list.placeOf(question))
}

export type SourceOptions = {
  settings: SourceSettings
  credentials: Credentials
  /** Shared by all organizations behind one rate limit; without it, this source has one of its own. */
  rateLimit?: RateLimit | undefined
  /** Idle connections to reuse; without it, connections are opened, and closed at the end. */
  agents?: IdleAgents | undefined
  /** Memory for pages in transit; without it, that of the process. */
  budget?: ByteBudget | undefined
  userAgent: string
  /** Unix milliseconds, to sign with. May be set at any time. */
  now: () => number
  /** The clock of every wait and time limit. It must advance, or a wait never ends. */
  monotonicMs: () => number
  /** Between 0 and 1. */
  random: () => number
  sleep?: Sleep | undefined
  onEvent?: ((event: SourceEvent) => void) | undefined
  /** Called for every answer, whatever it is. */
  onAnswer?: ((answer: { status: number }) => void) | undefined
}

/** What a source reports while it works, for a progress line or a log. Times in milliseconds. */
export type SourceEvent = WaitingEvent | ClockCorrected

/**
 * After everything that can happen in this turn of the event loop, when there are room and time for a page. When several answers come
 * together, each is followed by its next request before any of them is parsed: a connection that had an answer is free at the end of
 * the turn. Pages that wait for room get it together; each needs time, too.
 */
async function afterOthers({ room, signal, monotonicMs }: Waiting): Promise<void> {
  await nextTurn()
  do {
    await whenRoomy(room, signal)
    await turnWithTime(monotonicMs)
    signal.throwIfAborted()
  } while (!room.mayGoOn)
}

type Waiting = { room: Room; signal: AbortSignal; monotonicMs: () => number }

/** From now on, requests are signed by the service's clock. */
type ClockCorrected = { kind: 'clock-corrected'; offsetMs: number }

type ClockCorrectionOptions = {
  clock: Clock
  /** Unix milliseconds, as `attempt` signs. */
  now: () => number
  monotonicMs: () => number
  onEvent?: ((event: ClockCorrected) => void) | undefined
}

/**
 * A retry that sends a request once more, signed by the service's clock, if it was refused as unauthorized and the time of its
 * signature may be the reason.
 */
function withClockCorrection(retry: Pick<Retry, 'ask'>, options: ClockCorrectionOptions): Pick<Retry, 'ask'> {
  const { clock, now, monotonicMs, onEvent } = options
  return {
    async ask(attempt, stopping) {
      let signed = { unixMs: 0, atMs: 0 }
      const signingNow: typeof attempt = () => {
        signed = { unixMs: now() + clock.correctionMs, atMs: monotonicMs() }
        return attempt()
      }
      try {
        return await retry.ask(signingNow, stopping)
      } catch (error) {
        // The correction at the time of signing, unless our clock was set during the request.
        const signedAheadMs = signed.unixMs + (monotonicMs() - signed.atMs) - now()
        if (!isUnauthorized(error) || !clock.explains(signedAheadMs)) throw error
        if (stopping.mayAskMore?.() === false) throw error
        const offsetMs = clock.adopt()
        if (offsetMs !== undefined) onEvent?.({ kind: 'clock-corrected', offsetMs })
        return await retry.ask(signingNow, stopping)
      }
    },
  }
}
