import { randomUUID } from 'node:crypto'
import { RateLimited, SourceRefused } from '../errors/errors.ts'
import { type Credentials, type Recipe, signedHeaders, usesNonce } from '../signing/signing.ts'
import type { ByteBudget } from './byte-budget.ts'
import { serviceClock } from './clock.ts'
import { type Answer, type Connections, connectionsWithin, get, type GetOptions } from './connection.ts'
import { customersUrl, holdsPage, placeOf, type Question } from './customers-page.ts'
import type { Asking, RateLimit, RateLimitOptions } from './rate-limit.ts'
import { refusalOf } from './refusal.ts'
import { remainingIn } from './retry-after.ts'
import type { Retry, RetryOptions, WaitingEvent } from './retry.ts'

export type SourceOptions = Pick<RetryOptions, 'now' | 'monotonicMs' | 'random' | 'sleep'> & {
  settings: SourceSettings
  credentials: Credentials
  /** Shared by all organizations behind one rate limit; without it, this source has one of its own. */
  rateLimit?: RateLimit | undefined
  /** Without them, those of the process. */
  connections?: Connections | undefined
  /** Memory for pages in transit; without it, that of the process. */
  budget?: ByteBudget | undefined
  userAgent: string
  onEvent?: ((event: SourceEvent) => void) | undefined
  /** Called for every answer, whatever it is. */
  onAnswer?: ((answer: Pick<Answer, 'status' | 'headers'>) => void) | undefined
}

/** Without a shared rate limit, `concurrency` and `requestsPerMinute` are those of this source alone. */
type SourceSettings = Pick<RetryOptions, 'longestWaitMs' | 'maxWaitMs'> &
  Pick<RateLimitOptions, 'concurrency' | 'requestsPerMinute'> & {
    /** Ends in `/api/v1`. https, or http on loopback. */
    baseUrl: URL
    signing: Recipe
    /** For one whole exchange. */
    requestTimeoutMs: number
    /** Whether errors repeat what the service said about other things than key and signature (401): it may be a value. Default true. */
    quotesAnswers?: boolean | undefined
    /** The id of the organization in the commands that errors name; without it, a placeholder. */
    organization?: string | undefined
  }

/** What a source reports while it works, for a progress line or a log: a wait, or that requests are signed by the service's clock from now on. */
export type SourceEvent = WaitingEvent | { kind: 'clock-corrected'; offsetMs: number }

type SendOptions = Pick<GetOptions, 'signal' | 'room'>

export type SignedRequests = ReturnType<typeof signedRequests>

/** Requests to one list. Each is signed at the moment it is sent, and sent once. */
export function signedRequests(options: SourceOptions, rateLimit: RateLimit) {
  const { settings, credentials, userAgent, monotonicMs, onEvent, onAnswer } = options
  const { signing, requestTimeoutMs } = settings
  const { connections = connectionsWithin(requestTimeoutMs) } = options
  const clock = serviceClock(options)
  /** Requests sent so far, and how many requests for pages were answered with 429. */
  const counters = { requests: 0, throttled: 0 }

  /** Resolves with any answer, without interpreting it, and with what was sent. */
  async function send(question: Question, { signal, room }: SendOptions) {
    const url = customersUrl(settings.baseUrl, question)
    const moment = { unixMs: clock.signingMs, ...(usesNonce(signing) && { nonce: randomUUID() }) }
    const signed = signedHeaders({ method: 'GET', url }, credentials, moment, signing)
    const request = { address: url, headers: { 'User-Agent': userAgent, ...signed }, place: placeOf(url, question) }
    counters.requests += 1
    const answer = await get(request, { connections, timeoutMs: requestTimeoutMs, monotonicMs, signal, room })
    onAnswer?.(answer)
    return { answer, request }
  }

  /** Resolves with an answer that has a page, or a 404, and its place in messages; throws the error of any other answer. */
  async function ask(question: Question, asking: SendOptions) {
    // The bytes of an earlier answer.
    asking.room?.release()
    const { correctionMs } = clock
    const { answer, request } = await send(question, asking)
    const { address: url, place, headers } = request
    clock.observe(answer)
    if (holdsPage(answer, question)) {
      rateLimit.succeeded(remainingIn(answer.headers))
      return { answer, place }
    }
    const secrets = [credentials.secret, ...Object.values(headers)]
    const refusal = refusalOf(answer, { url, place, clock, correctionMs, secrets, settings })
    if (refusal instanceof RateLimited) counters.throttled += 1
    throw refusal
  }

  /** Asks through `retry`; once more, signed by the service's clock, if refused as unauthorized where the time of the signature may be the reason. */
  async function askOnTime(retry: Pick<Retry, 'ask'>, question: Question, { room, ...asking }: Asking & SendOptions) {
    let signedLeadMs = 0
    const attempt = () => {
      signedLeadMs = clock.signingMs - monotonicMs()
      return ask(question, { signal: asking.signal, room })
    }
    try {
      return await retry.ask(attempt, asking)
    } catch (error) {
      const isUnauthorized = error instanceof SourceRefused && error.code === 'unauthorized'
      if (!isUnauthorized || !clock.explains(signedLeadMs) || asking.mayAskMore?.() === false) throw error
      const offsetMs = clock.adopt()
      if (offsetMs !== undefined) onEvent?.({ kind: 'clock-corrected', offsetMs })
      return await retry.ask(attempt, asking)
    }
  }

  return { clock, counters, send, askOnTime }
}
