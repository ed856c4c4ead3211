import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RateLimited } from '../errors.ts'
import type { Answer } from './answer.ts'
import { type ByteBudget, PROCESS_BUDGET, type Room, whenRoomy } from './byte-budget.ts'
import { createCachedAnswers } from './cached-answers.ts'
import { createClock } from './clock.ts'
import { type CustomersPage, missingPage, pageFrom } from './customers-page.ts'
import {
  type Address,
  customersAt,
  type Question,
  refuseImpossible,
  refuseOpenWire,
  type Window,
} from './customers-url.ts'
import { createRateLimit, type RateLimit, type Stopping } from './rate-limit.ts'
import { createRetry, type WaitingEvent } from './retry.ts'
import { isSizeRefused, isUnauthorized, refusalOf } from './refusal.ts'
import { createRepeatedPages } from './repeated-pages.ts'
import { remainingIn } from './retry-after.ts'
import type { IdleAgents } from './idle-agents.ts'
import { openConnection } from './request.ts'
import { createSigner, type Credentials, usesNonce } from './signing.ts'
import type { Sleep } from './sleep.ts'
import type { SourceSettings } from './settings.ts'

export type { CustomersPage } from './customers-page.ts'
export type { Stopping } from './rate-limit.ts'

export type SourceOptions = {
  settings: SourceSettings
  credentials: Credentials
  /** Shared by all organizations behind one rate limit; one of its own without it. */
  rateLimit?: RateLimit | undefined
  /** Where connections come from and go to; without it they are opened, and ended at the close. */
  agents?: IdleAgents | undefined
  /** Room for pages on their way; without it, that of the process. */
  budget?: ByteBudget | undefined
  userAgent: string
  /** Unix milliseconds, to sign with. May be set at any time. */
  now: () => number
  /** For every wait and time limit. Must move on, or a wait never ends. */
  monotonicMs: () => number
  /** Between 0 and 1. */
  random: () => number
  sleep?: Sleep | undefined
  onEvent?: ((event: SourceEvent) => void) | undefined
  /** Told of every answer, whatever it was. */
  onAnswer?: ((answer: { status: number }) => void) | undefined
}

/** What a source reports while it works, for a progress line or a log. Times in milliseconds. */
export type SourceEvent = WaitingEvent | { kind: 'clock-corrected'; offsetMs: number }

/** The customers of one organization, as its service lists them. */
export type Source = {
  /** Reads one page, waiting and asking again within the budgets. Rejects with the reason of the signal that aborts. */
  readPage(window: Window, options: ReadOptions): Promise<CustomersPage>
  /** The first page of the customers that match a search; retried like readPage. */
  search(text: string, options: Stopping): Promise<CustomersPage>
  /** One request for the first page of that size, never retried: the first refusal is thrown. */
  probe(size: number, options: { signal: AbortSignal }): Promise<CustomersPage>
  readonly counters: { requests: number; throttled: number; waitedMs: number }
  /** Milliseconds the service's clock is ahead of ours, to about a second; undefined until an answer told. */
  readonly clockOffsetMs: number | undefined
  /** Ends every connection, or leaves them to others. To be called once nothing is under way. */
  close(): Promise<void>
}

export type ReadOptions = Stopping & {
  /** Told when the answer is there, and nothing but work is left. */
  onAnswered?: (() => void) | undefined
}

/** The documented maximum of `per_page`, and the size to fall back on where it is refused. */
const LARGEST_SIZE = 100
const FALLBACK_SIZE = 50

const DEFAULT_ATTEMPTS = 5
const DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024

export function openSource(options: SourceOptions): Source {
  const { settings, now, monotonicMs, random, sleep, onEvent, onAnswer } = options
  const { baseUrl, requestTimeoutMs, concurrency, requestsPerMinute, maxWaitMs, longestWaitMs } = settings
  const { attempts = DEFAULT_ATTEMPTS, maxBodyBytes = DEFAULT_MAX_BODY_BYTES } = settings
  refuseOpenWire(baseUrl)
  const { origin } = baseUrl
  const limits = { origin, requestTimeoutMs, maxBodyBytes, connections: concurrency }
  const connection = openConnection(limits, { now, monotonicMs }, options.agents)
  const rateLimit = options.rateLimit ?? createRateLimit({ concurrency, requestsPerMinute, monotonicMs, sleep })
  const retry = createRetry({
    ...{ rateLimit, attempts, maxWaitMs, longestWaitMs },
    ...{ now, monotonicMs, random, sleep, onEvent },
  })
  const clock = createClock()
  const list = customersAt(baseUrl)
  const sign = createSigner(options.credentials, settings.signing)
  const isNonceSigned = usesNonce(settings.signing)
  const repeatedPages = createRepeatedPages()
  const cachedAnswers = createCachedAnswers({
    ...{ clock, rateLimit, monotonicMs },
    ask: (asked, signal) => send(asked, signedRequest(asked), signal),
  })
  const rooms = (options.budget ?? PROCESS_BUDGET).share()
  const counts = { requests: 0, throttled: 0 }
  let largestSize = LARGEST_SIZE

  async function readPage({ page, size }: Window, reading: ReadOptions): Promise<CustomersPage> {
    refuseImpossible({ page, size })
    const asked = { page, size: Math.min(size, largestSize) }
    try {
      return { ...(await readWindow(asked, reading)), askedSize: size }
    } catch (error) {
      if (!isSizeRefused(error) || page !== 1 || asked.size <= FALLBACK_SIZE) throw error
      const fallback = await readWindow({ page, size: FALLBACK_SIZE }, reading)
      largestSize = FALLBACK_SIZE
      return { ...fallback, askedSize: size }
    }
  }

  async function readWindow(asked: Question, { onAnswered, ...stopping }: ReadOptions): Promise<CustomersPage> {
    const room = rooms.open()
    try {
      const answer = await answerTo(asked, stopping, room)
      await cachedAnswers.refuse(answer, list.placeOf(asked), stopping)
      onAnswered?.()
      await afterOthers()
      stopping.signal.throwIfAborted()
      await whenRoomy(room, stopping.signal)
      return { ...pageIn(answer, asked), release: () => room.release() }
    } catch (error) {
      room.release()
      throw error
    }
  }

  async function answerTo(asked: Question, stopping: Stopping, room: Room): Promise<Answer> {
    let signed = { unixMs: 0, atMs: 0 }
    const attempt = (): Promise<Answer> => {
      signed = { unixMs: now() + clock.correctionMs, atMs: monotonicMs() }
      return askOnce(asked, stopping.signal, room)
    }
    try {
      return await retry.ask(attempt, stopping)
    } catch (error) {
      // As far as it was corrected, unless our clock was set while the request was under way.
      const signedAheadMs = signed.unixMs + (monotonicMs() - signed.atMs) - now()
      if (!isUnauthorized(error) || !clock.explains(signedAheadMs)) throw error
      const offsetMs = clock.adopt()
      if (offsetMs !== undefined) onEvent?.({ kind: 'clock-corrected', offsetMs })
      return await retry.ask(attempt, stopping)
    }
  }

  /** Sends, and throws an answer that holds no page. */
  async function askOnce(asked: Question, signal: AbortSignal, room?: Room): Promise<Answer> {
    room?.release()
    const place = list.placeOf(asked)
    const { correctionMs } = clock
    const { address, headers } = signedRequest(asked)
    const answer = await send(asked, { address, headers }, signal, room)
    clock.observe(answer)
    if (answer.status !== 200 && !isBeyondEnd(answer, asked)) {
      const secrets = [options.credentials.secret, ...Object.values(headers)]
      const url = new URL(address.origin + address.pathname + address.search)
      const context = { url, place, nowMs: answer.answeredMs, clockOffsetMs: clock.offsetMs, correctionMs, secrets }
      const refusal = refusalOf(answer, context)
      if (refusal instanceof RateLimited) counts.throttled += 1
      throw refusal
    }
    rateLimit.succeeded(remainingIn(answer.headers))
    return answer
  }

  async function send(
    asked: Question,
    { address, headers }: Signed,
    signal: AbortSignal,
    room?: Room,
  ): Promise<Answer> {
    counts.requests += 1
    const answer = await connection.get(address, headers, { signal, place: list.placeOf(asked), room })
    onAnswer?.({ status: answer.status })
    return answer
  }

  function pageIn(answer: Answer, asked: Question): CustomersPage {
    const place = list.placeOf(asked)
    if (isBeyondEnd(answer, asked)) return missingPage(asked, place)
    const page = pageFrom(answer, asked, place)
    if (asked.search === undefined) repeatedPages.refuse(page, place)
    return page
  }

  /** Signs at this very moment. */
  function signedRequest(asked: Question): Signed {
    const address = list.addressOf(asked)
    const unixMs = now() + clock.correctionMs
    const moment = isNonceSigned ? { unixMs, nonce: randomUUID() } : { unixMs }
    const signature = sign({ method: 'GET', url: address }, moment)
    return { address, headers: { 'User-Agent': options.userAgent, ...signature } }
  }

  return {
    readPage,
    async search(search, stopping) {
      const page = await readWindow({ page: 1, size: largestSize, search }, stopping)
      page.release?.()
      return page
    },
    async probe(size, { signal }) {
      const asked = { page: 1, size }
      return pageIn(await askOnce(asked, signal), asked)
    },
    get counters() {
      return { ...counts, waitedMs: retry.waitedMs }
    },
    get clockOffsetMs() {
      return clock.offsetMs
    },
    close() {
      rooms.releaseAll()
      return connection.close()
    },
  }
}

type Signed = { address: Address; headers: Record<string, string> }

function isBeyondEnd({ status }: Answer, { page }: Question): boolean {
  return status === 404 && page > 1
}

/**
 * After all that can happen in this turn of the event loop. Of several answers that have come together each is followed by
 * the next request then, before any of them is read: a connection that had an answer is free at the end of the turn.
 */
async function afterOthers(): Promise<void> {
  await nextTurn()
  await nextTurn()
}
