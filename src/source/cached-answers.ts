import { randomUUID } from 'node:crypto'
import { ContractBroken, isOurs } from '../errors/errors.ts'
import { type Answer, headerOf } from './connection/answer.ts'
import type { Clock } from './clock/clock.ts'
import type { Question } from './customers-url.ts'
import { httpDateMs } from './clock/http-date.ts'
import type { Asking, RateLimit, Stopping } from './pace/rate-limit.ts'
import { retryAfterMs, SHORTEST_PAUSE_MS } from './pace/retry-after.ts'

/** Refuses answers that were made before the request: they say nothing about the list as it is now. */
export type CachedAnswers = {
  /** Throws `ContractBroken` for such an answer. May first request the service's time. */
  refuse(answer: Answer, place: string, asking: Asking): Promise<void>
}

export type CachedAnswersOptions = {
  clock: Clock
  rateLimit: Pick<RateLimit, 'admit' | 'pauseUntil'>
  /** Sends one request, and returns the answer whatever it is. */
  ask: (question: Question, signal: AbortSignal) => Promise<Answer>
  monotonicMs: () => number
}

/** The service's time is requested at most so often in this time: servers behind one address may have different clocks. */
const MOST_ASKED = 4
const TIME_HOLDS_MS = 5000

/**
 * An old `Date` may come from a cache, or from a service whose clock is behind. To find out which, the service is sent a request
 * that no cache can answer, once and then whenever dates contradict each other: the `Date` of that answer is its clock.
 */
export function createCachedAnswers({ clock, rateLimit, ask, monotonicMs }: CachedAnswersOptions): CachedAnswers {
  let asked: number[] = []
  let asking: Promise<void> | undefined

  async function learnTime(stopping: Stopping): Promise<void> {
    const answer = await askAnew(stopping)
    if (answer !== undefined) clock.anchor(answer)
    asked.push(monotonicMs())
  }

  /** A search for a text that was never searched before: no cache has an answer to it. */
  async function askAnew(stopping: Stopping): Promise<Answer | undefined> {
    const search = { page: 1, size: 1, search: randomUUID() }
    try {
      const turn = await rateLimit.admit(() => askOnce(search, stopping.signal), stopping)
      return turn.paused ? undefined : turn.value
    } catch (error) {
      if (!isOurs(error)) throw error
      return undefined
    }
  }

  /** An answer that asks to slow down has the time too, and holds for all requests. */
  async function askOnce(question: Question, signal: AbortSignal): Promise<Answer> {
    const answer = await ask(question, signal)
    if (answer.status === 429) rateLimit.pauseUntil(monotonicMs() + pauseMs(answer))
    return answer
  }

  function mayAskTime(): boolean {
    asked = asked.filter((atMs) => monotonicMs() - atMs < TIME_HOLDS_MS)
    return asked.length < MOST_ASKED
  }

  return {
    async refuse(answer, place, { mayAskMore, ...stopping }) {
      const mayWait = () => asking !== undefined || (mayAskTime() && mayAskMore?.() !== false)
      while (!clock.fits(answer) && mayWait())
        await (asking ??= learnTime(stopping).finally(() => (asking = undefined)))
      if (clock.isOld(answer)) throw cachedAnswer(answer, place)
    },
  }
}

/** By the service's own clock, which this answer shows. */
function pauseMs({ headers, answeredMs }: Answer): number {
  const nowMs = httpDateMs(headerOf(headers, 'date') ?? '') ?? answeredMs
  return retryAfterMs(headers, nowMs) ?? SHORTEST_PAUSE_MS
}

function cachedAnswer({ headers }: Answer, place: string): ContractBroken {
  const age = headerOf(headers, 'age')
  const evidence = age === undefined ? `its Date is ${headerOf(headers, 'date')}` : `its Age is ${age.slice(0, 20)} s`
  const message =
    `${place}: the answer was made before the request: ${evidence}. No row of that page is kept. ` +
    'Configure the cache or proxy in between to pass these requests on to the service.'
  return new ContractBroken(message, { code: 'cached-answer' })
}
