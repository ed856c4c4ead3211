import { z } from 'zod'
import type { Logger } from '../../src/machine/log.ts'
import { type Sleep, sleep as timerSleep } from '../../src/machine/timers.ts'
import type { OpenSharedTurns } from '../../src/sync/run-organization.ts'
import { type SharedTurns, spacingMs } from '../../src/source/rate-limit.ts'
import { oneAtATime, within } from '../timings.ts'
import { codeAndReason } from './queue-faults.ts'
import { parseValue, type SharedValues } from './port.ts'

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
  return (name, requestsPerMinute) => new QueueTurns(name, spacingMs(requestsPerMinute), sharing)
}

const taken = z.object({ turnInMs: z.number(), pausedMs: z.number() })

/** How long an answer may take before the limit counts as away. */
const ANSWER_MS = 1000
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
class QueueTurns implements SharedTurns {
  readonly #name: string
  readonly #spacingMs: number
  readonly #sharing: Sharing
  #askedMs = -Infinity
  #pausedUntilMs = 0
  #isAway = false
  /** While away: the moment of the next turn of this worker's share. */
  #nextOwnMs = 0

  /** While away: one question waits for the queue to be back; it takes no turn. */
  readonly #look = oneAtATime(() =>
    this.#ask(0, 0).then(
      () => this.#setAway(false),
      () => {},
    ),
  )

  constructor(name: string, spacing: number, sharing: Sharing) {
    this.#name = name
    this.#spacingMs = spacing
    this.#sharing = sharing
  }

  async next(signal: AbortSignal): Promise<{ pausedUntilMs: number }> {
    const { monotonicMs, sleep = timerSleep } = this.#sharing
    for (let isTaken = false; !isTaken;) {
      const turnMs = await this.#take(this.#spacingMs)
      if (monotonicMs() < this.#pausedUntilMs) break
      // A slow answer is no reason to ask for another turn: that would be as slow.
      const startMs = Math.max(turnMs, monotonicMs())
      if (startMs > monotonicMs()) await sleep(startMs - monotonicMs(), signal)
      // Where it is not, this process was stopped or busy for a while.
      isTaken = monotonicMs() - startMs <= STALE_MS
    }
    if (monotonicMs() - this.#askedMs > STALE_MS) await this.#take(0)
    signal.throwIfAborted()
    return { pausedUntilMs: this.#pausedUntilMs }
  }

  pauseUntil(untilMs: number): void {
    if (untilMs <= this.#pausedUntilMs) return
    this.#pausedUntilMs = untilMs
    void this.#take(0, Math.max(0, untilMs - this.#sharing.monotonicMs()))
  }

  shareOf(remaining: number): number {
    return Math.floor(remaining / this.#sharing.workers())
  }

  /** Takes a turn, so far after the one before, and returns its moment; 0 asks for pauses alone. */
  async #take(spacing: number, pauseMs = 0): Promise<number> {
    if (!this.#isAway) {
      try {
        const inTime = await within(this.#ask(spacing, pauseMs), ANSWER_MS, undefined)
        if (inTime !== undefined) return inTime
        throw new Error(`no answer within ${ANSWER_MS / 1000} s`)
      } catch (error) {
        this.#setAway(true, error)
      }
    } else void this.#look()
    const turnMs = Math.max(this.#sharing.monotonicMs(), this.#nextOwnMs)
    this.#nextOwnMs = turnMs + spacing * this.#sharing.workers()
    this.#askedMs = turnMs
    return turnMs
  }

  async #ask(spacing: number, pauseMs: number): Promise<number> {
    const { values, monotonicMs } = this.#sharing
    const sentMs = monotonicMs()
    const answer = parseValue(taken, await values.takeTurn(this.#name, spacing, pauseMs))
    if (answer === undefined) throw new Error('another program has its name')
    // The clock of the database was read about half way between the question and the answer.
    const readMs = (sentMs + monotonicMs()) / 2
    this.#askedMs = sentMs
    if (answer.pausedMs > 0) this.#pausedUntilMs = Math.max(this.#pausedUntilMs, readMs + answer.pausedMs)
    return readMs + answer.turnInMs
  }

  #setAway(isAway: boolean, error?: unknown): void {
    const { workers, monotonicMs, log } = this.#sharing
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    const limit = this.#name
    if (!isAway) return log.info({ limit }, 'shared rate limit is back')
    // The turn before may just have been taken.
    this.#nextOwnMs = monotonicMs() + this.#spacingMs * workers()
    const facts = { limit, workers: workers(), reason: codeAndReason(error) }
    log.warn(facts, 'shared rate limit is away, each worker takes its share of it')
  }
}
