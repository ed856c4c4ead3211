import { randomUUID } from 'node:crypto'
import { ContractBroken, isOurs } from '../errors.ts'
import { type Answer, headerOf } from './answer.ts'
import type { Clock } from './clock.ts'
import type { Question } from './customers-url.ts'
import type { RateLimit, Stopping } from './rate-limit.ts'

/** Refuses answers that were made before they were asked for: they say nothing about now. */
export type CachedAnswers = {
  /** Throws `ContractBroken` for such an answer. May ask the service for the time first. */
  refuse(answer: Answer, place: string, stopping: Stopping): Promise<void>
}

export type CachedAnswersOptions = {
  clock: Clock
  rateLimit: Pick<RateLimit, 'admit'>
  /** Asks once, and gives whatever comes. */
  ask: (question: Question, signal: AbortSignal) => Promise<Answer>
  monotonicMs: () => number
}

/** The service is not asked for the time again within so long. */
const TIME_HOLDS_MS = 5000

/**
 * An old `Date` alone does not tell a cache from a service whose clock is behind. Therefore the service is asked, once and
 * then where dates contradict each other, for something that no cache can hold: the `Date` of that answer is its clock.
 */
export function createCachedAnswers({ clock, rateLimit, ask, monotonicMs }: CachedAnswersOptions): CachedAnswers {
  let askedAtMs: number | undefined
  let asking: Promise<void> | undefined

  async function learnTime(stopping: Stopping): Promise<void> {
    const answer = await askAnew(stopping)
    if (answer !== undefined) clock.anchor(answer)
    askedAtMs = monotonicMs()
  }

  /** A search that was never made before: no cache holds its answer, whatever that is. */
  async function askAnew(stopping: Stopping): Promise<Answer | undefined> {
    const search = { page: 1, size: 1, search: randomUUID() }
    try {
      const turn = await rateLimit.admit(() => ask(search, stopping.signal), stopping)
      return turn.paused ? undefined : turn.value
    } catch (error) {
      if (!isOurs(error)) throw error
      return undefined
    }
  }

  function timeHolds(): boolean {
    return askedAtMs !== undefined && monotonicMs() - askedAtMs < TIME_HOLDS_MS
  }

  return {
    async refuse(answer, place, stopping) {
      if (!clock.fits(answer) && !timeHolds()) {
        asking ??= learnTime(stopping).finally(() => (asking = undefined))
        await asking
      }
      if (clock.isOld(answer)) throw cachedAnswer(answer, place)
    },
  }
}

function cachedAnswer({ headers }: Answer, place: string): ContractBroken {
  const age = headerOf(headers, 'age')
  const told = age === undefined ? `its Date is ${headerOf(headers, 'date')}` : `its Age is ${age.slice(0, 20)} s`
  const message =
    `${place}: the answer was made before it was asked for, ${told}. Nothing of that page is kept. ` +
    'Have whatever caches answers in between pass these requests on to the service.'
  return new ContractBroken(message, { code: 'cached-answer' })
}
