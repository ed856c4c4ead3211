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
export function refusingCachedAnswers({ requests, rateLimit, now, monotonicMs }: CachedAnswersOptions) {
  const { clock } = requests
  let askedMs: number[] = []
  let asking: Promise<void> | undefined

  function mayAskTime(): boolean {
    const nowMs = monotonicMs()
    askedMs = askedMs.filter((atMs) => nowMs - atMs < TIME_HOLDS_MS)
    return askedMs.length < MOST_ASKED
  }

  async function learnTime(stopping: Stopping): Promise<void> {
    try {
      const answer = await rateLimit.admit(() => askAnew(stopping.signal), stopping)
      if (answer !== undefined) clock.anchor(answer)
    } catch (error) {
      if (!isOurs(error)) throw error
    }
    askedMs.push(monotonicMs())
  }

  /** A search for a text that was never searched before: no cache has an answer to it. One that asks to slow down has the time too. */
  async function askAnew(signal: AbortSignal): Promise<Answer> {
    const { answer } = await requests.send({ page: 1, size: 1, search: randomUUID() }, { signal })
    if (answer.status === 429) {
      const serviceNowMs = httpDateMs(headerOf(answer.headers, 'date') ?? '') ?? now()
      rateLimit.pauseUntil(monotonicMs() + (retryAfterMs(answer.headers, serviceNowMs) ?? SHORTEST_PAUSE_MS))
    }
    return answer
  }

  /** Throws `ContractBroken` for such an answer. May first request the service's time. */
  return async (answer: Answer, place: string, { mayAskMore, ...stopping }: Asking): Promise<void> => {
    const mayWait = () => asking !== undefined || (mayAskTime() && mayAskMore?.() !== false)
    while (!clock.fits(answer) && mayWait()) await (asking ??= learnTime(stopping).finally(() => (asking = undefined)))
    if (!clock.isOld(answer)) return
    const [age, date] = ['age', 'date'].map((name) => headerOf(answer.headers, name))
    const evidence = age === undefined ? `its Date is ${date}` : `its Age is ${age.slice(0, 20)} s`
    const message =
      `${place}: the answer was made before the request: ${evidence}. No row of that page is kept. ` +
      'Configure the cache or proxy in between to pass these requests on to the service.'
    throw new ContractBroken(message, { code: 'cached-answer' })
  }
}
