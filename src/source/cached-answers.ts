import { randomUUID } from 'node:crypto'
import { ContractBroken, isOurs } from '../errors/errors.ts'
import { type Answer, headerOf } from './connection.ts'
import type { Asking, RateLimit, Stopping } from './rate-limit.ts'
import { httpDateMs, retryAfterMs, SHORTEST_PAUSE_MS } from './retry-after.ts'
import type { SignedRequests, SourceOptions } from './signed-requests.ts'

type CachedAnswersOptions = Pick<SourceOptions, 'now' | 'monotonicMs'> & {
  requests: Pick<SignedRequests, 'clock' | 'send'>
  rateLimit: Pick<RateLimit, 'admit' | 'pauseUntil'>
}

/** The service's time is requested at most so often in this time: servers behind one address may have different clocks. */
const MOST_ASKED = 4
const TIME_HOLDS_MS = 5000

/**
 * Refuses answers that were made before the request: they say nothing about the list as it is now. An old `Date` may come from a cache, or from
 * a service whose clock is behind: so the service is sent a request that no cache can answer, once and whenever dates contradict each other, and
 * the `Date` of that answer is its clock.
 */
export class CachedAnswers {
  readonly #options: CachedAnswersOptions
  #askedMs: number[] = []
  #asking: Promise<void> | undefined

  constructor(options: CachedAnswersOptions) {
    this.#options = options
  }

  /** Throws `ContractBroken` for such an answer. May first request the service's time. */
  async refuse(answer: Answer, place: string, { mayAskMore, ...stopping }: Asking): Promise<void> {
    const { clock } = this.#options.requests
    const mayWait = () => this.#asking !== undefined || (this.#mayAskTime() && mayAskMore?.() !== false)
    while (!clock.fits(answer) && mayWait())
      await (this.#asking ??= this.#learnTime(stopping).finally(() => (this.#asking = undefined)))
    if (clock.isOld(answer)) throw cachedAnswer(answer, place)
  }

  #mayAskTime(): boolean {
    const nowMs = this.#options.monotonicMs()
    this.#askedMs = this.#askedMs.filter((atMs) => nowMs - atMs < TIME_HOLDS_MS)
    return this.#askedMs.length < MOST_ASKED
  }

  async #learnTime(stopping: Stopping): Promise<void> {
    const { requests, rateLimit, monotonicMs } = this.#options
    try {
      const answer = await rateLimit.admit(() => this.#askAnew(stopping.signal), stopping)
      if (answer !== undefined) requests.clock.anchor(answer)
    } catch (error) {
      if (!isOurs(error)) throw error
    }
    this.#askedMs.push(monotonicMs())
  }

  /** A search for a text that was never searched before: no cache has an answer to it. One that asks to slow down has the time too. */
  async #askAnew(signal: AbortSignal): Promise<Answer> {
    const { requests, rateLimit, now, monotonicMs } = this.#options
    const { answer } = await requests.send({ page: 1, size: 1, search: randomUUID() }, { signal })
    if (answer.status === 429) {
      const serviceNowMs = httpDateMs(headerOf(answer.headers, 'date') ?? '') ?? now()
      rateLimit.pauseUntil(monotonicMs() + (retryAfterMs(answer.headers, serviceNowMs) ?? SHORTEST_PAUSE_MS))
    }
    return answer
  }
}

function cachedAnswer({ headers }: Answer, place: string): ContractBroken {
  const age = headerOf(headers, 'age')
  const evidence = age === undefined ? `its Date is ${headerOf(headers, 'date')}` : `its Age is ${age.slice(0, 20)} s`
  const message =
    `${place}: the answer was made before the request: ${evidence}. No row of that page is kept. ` +
    'Configure the cache or proxy in between to pass these requests on to the service.'
  return new ContractBroken(message, { code: 'cached-answer' })
}
