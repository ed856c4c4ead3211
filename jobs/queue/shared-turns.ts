import { z } from 'zod'
import type { Logger } from '../../src/machine/log.ts'
import { type Sleep, sleep as timerSleep, oneAtATime, within } from '../../src/machine/timers.ts'
import type { OpenSharedTurns } from '../../src/sync/run-organization.ts'
import { type SharedTurns, spacingMs } from '../../src/source/rate-limit.ts'
import { codeAndReason } from './queue-faults.ts'
import { OPTIONAL_ANSWER_MS, parseValue, type SharedValues } from './port.ts'

type Sharing = {
  values: Pick<SharedValues, 'takeTurn'>
  /** The workers of the queue, with this one. */
  workers: () => number
  monotonicMs: () => number
  sleep?: Sleep | undefined
  /** Gets a line when a limit is away, and when it is back. */
  log: Pick<Logger, 'info' | 'warn'>
}

/** The rate limits that this worker shares with all others of its queue, by name. */
export function sharedTurnsIn(sharing: Sharing): OpenSharedTurns {
  return (name, requestsPerMinute) => queueTurns(name, spacingMs(requestsPerMinute), sharing)
}

const taken = z.object({ turnInMs: z.number(), pausedMs: z.number() })

/** A request is not sent on news of pauses that is older, nor on a turn that came so long ago. */
const STALE_MS = 250

/**
 * The requests of this worker under a limit that is kept in the queue. `next` never rejects because of the queue, and never hangs:
 *
 *            no answer, or an error: reported
 *   shared ──────────────────────────────────▶ away: the turns of this worker are as far apart as if every worker took the
 *      ▲                                        │     same share of the limit
 *      └──────── an answer: reported ───────────┘
 */
function queueTurns(limit: string, everyMs: number, sharing: Sharing): SharedTurns {
  const { values, workers, monotonicMs, sleep = timerSleep, log } = sharing
  let [askedMs, pausedUntilMs, isAway] = [-Infinity, 0, false]
  /** While away: the moment of the next turn of this worker's share. */
  let nextOwnMs = 0

  async function ask(spacing: number, pauseMs: number): Promise<number> {
    const sentMs = monotonicMs()
    const answer = parseValue(taken, await values.takeTurn(limit, spacing, pauseMs))
    if (answer === undefined) throw new Error('another program has its name')
    // The clock of the database was read about half way between the question and the answer.
    const readMs = (sentMs + monotonicMs()) / 2
    askedMs = sentMs
    if (answer.pausedMs > 0) pausedUntilMs = Math.max(pausedUntilMs, readMs + answer.pausedMs)
    return readMs + answer.turnInMs
  }

  /** While away: one question waits for the queue to be back; it takes no turn. */
  const look = oneAtATime(async () => {
    await ask(0, 0)
    if (isAway) log.info({ limit }, 'shared rate limit is back')
    isAway = false
  })

  /** Takes a turn, so far after the one before, and returns its moment; 0 asks for pauses alone. */
  async function take(spacing: number, pauseMs = 0): Promise<number> {
    if (isAway) void look().catch(() => {})
    else {
      const inTime = await within(ask(spacing, pauseMs), OPTIONAL_ANSWER_MS, undefined).catch(goAway)
      if (inTime !== undefined) return inTime
      goAway(new Error(`no answer within ${OPTIONAL_ANSWER_MS / 1000} s`))
    }
    const turnMs = Math.max(monotonicMs(), nextOwnMs)
    nextOwnMs = turnMs + spacing * workers()
    askedMs = turnMs
    return turnMs
  }

  function goAway(error: unknown): undefined {
    if (isAway) return
    isAway = true
    // The turn before may just have been taken.
    nextOwnMs = monotonicMs() + everyMs * workers()
    const facts = { limit, workers: workers(), reason: codeAndReason(error) }
    log.warn(facts, 'shared rate limit is away, each worker takes its share of it')
  }

  return {
    async next(signal) {
      for (let isTaken = false; !isTaken;) {
        const turnMs = await take(everyMs)
        if (monotonicMs() < pausedUntilMs) break
        // A slow answer is no reason to ask for another turn: that would be as slow.
        const startMs = Math.max(turnMs, monotonicMs())
        if (startMs > monotonicMs()) await sleep(startMs - monotonicMs(), signal)
        // Where it is not, this process was stopped or busy for a while.
        isTaken = monotonicMs() - startMs <= STALE_MS
      }
      if (monotonicMs() - askedMs > STALE_MS) await take(0)
      signal.throwIfAborted()
      return { pausedUntilMs }
    },
    pauseUntil(untilMs) {
      if (untilMs <= pausedUntilMs) return
      pausedUntilMs = untilMs
      void take(0, Math.max(0, untilMs - monotonicMs()))
    },
    shareOf: (remaining) => Math.floor(remaining / workers()),
  }
}
