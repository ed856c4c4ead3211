import { factsOf } from '../../errors/errors.ts'
import type { AutoConcurrency } from './auto-concurrency.ts'

/** Follows one request to its end, for how many run at once. */
export type RequestWatch = {
  /** It was answered with a page. */
  answered(): void
  failed(error: unknown): void
}

/** For a number of requests that is fixed. */
export const UNWATCHED: RequestWatch = { answered() {}, failed() {} }

type Surroundings = {
  /** Requests under way, this one included. */
  underWay: () => number
  monotonicMs: () => number
  idleMs: () => number
  onJudged: () => void
}

/** Takes the time of a request that begins now, and reports it. */
export function watchRequest(
  auto: AutoConcurrency,
  { underWay, monotonicMs, idleMs, onJudged }: Surroundings,
): RequestWatch {
  const startedMs = monotonicMs()
  const idleBeforeMs = idleMs()
  return {
    answered() {
      const endedMs = monotonicMs()
      auto.answered({ startedMs, endedMs, idleMs: idleMs() - idleBeforeMs, underWay: underWay() })
      onJudged()
    },
    failed(error) {
      const times = { startedMs, endedMs: monotonicMs() }
      const { from, askAgain } = factsOf(error)
      if (from === 'outage' && askAgain === 'wait') auto.refused(times)
      else if (from === 'outage') auto.struggled(times)
      onJudged()
    },
  }
}
