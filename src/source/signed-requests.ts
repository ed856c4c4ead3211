import { randomUUID } from 'node:crypto'
import { RateLimited, SourceRefused } from '../errors/errors.ts'
import { type Credentials, type Recipe, signedHeaders, usesNonce } from '../signing/signing.ts'
import type { ByteBudget } from './byte-budget.ts'
import { Clock } from './clock.ts'
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

/** Requests to one list. Each is signed at the moment it is sent, and sent once. */
export class SignedRequests {
  readonly clock: Clock
  readonly #options: SourceOptions
  readonly #rateLimit: RateLimit
  /** Requests sent so far, and how many requests for pages were answered with 429. */
  readonly counters = { requests: 0, throttled: 0 }

  constructor(options: SourceOptions, rateLimit: RateLimit) {
    this.#options = options
    this.#rateLimit = rateLimit
    this.clock = new Clock(options)
  }

  /** Resolves with an answer that has a page, or a 404, and its place in messages; throws the error of any other answer. */
  async #ask(question: Question, options: SendOptions) {
    // The bytes of an earlier answer.
    options.room?.release()
    const { correctionMs } = this.clock
    const { answer, request } = await this.send(question, options)
    const { address: url, place, headers } = request
    this.clock.observe(answer)
    if (holdsPage(answer, question)) {
      this.#rateLimit.succeeded(remainingIn(answer.headers))
      return { answer, place }
    }
    const { credentials, settings } = this.#options
    const secrets = [credentials.secret, ...Object.values(headers)]
    const context = { url, place, clock: this.clock, correctionMs, secrets, settings }
    const refusal = refusalOf(answer, context)
    if (refusal instanceof RateLimited) this.counters.throttled += 1
    throw refusal
  }

  /** Asks through `retry`; once more, signed by the service's clock, if refused as unauthorized where the time of the signature may be the reason. */
  async askOnTime(retry: Pick<Retry, 'ask'>, question: Question, { room, ...asking }: Asking & SendOptions) {
    const { clock } = this
    const { onEvent, monotonicMs } = this.#options
    let signedLeadMs = 0
    const attempt = () => {
      signedLeadMs = clock.signingMs - monotonicMs()
      return this.#ask(question, { signal: asking.signal, room })
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

  /** Resolves with any answer, without interpreting it, and with what was sent. */
  async send(question: Question, { signal, room }: SendOptions) {
    const { settings, credentials, userAgent, monotonicMs, onAnswer } = this.#options
    const { signing, requestTimeoutMs } = settings
    const url = customersUrl(settings.baseUrl, question)
    const moment = { unixMs: this.clock.signingMs, ...(usesNonce(signing) && { nonce: randomUUID() }) }
    const signed = signedHeaders({ method: 'GET', url }, credentials, moment, signing)
    const headers = { 'User-Agent': userAgent, ...signed }
    const { connections = connectionsWithin(requestTimeoutMs) } = this.#options
    this.counters.requests += 1
    const request = { address: url, headers, place: placeOf(url, question) }
    const answer = await get(request, { connections, timeoutMs: requestTimeoutMs, monotonicMs, signal, room })
    onAnswer?.(answer)
    return { answer, request }
  }
}
