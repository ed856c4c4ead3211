import pLimit from 'p-limit'
import { z } from 'zod'
import type { Logger } from '../../src/machine/log.ts'
import { type Sleep, sleep as timerSleep } from '../../src/machine/timers.ts'
import type { OpenSharedTurns } from '../../src/sync/run-organization.ts'
import { type SharedTurns, spacingMs } from '../../src/source/rate-limit.ts'
import { oneAtATime, within } from './deadline.ts'
import { codeAndReason } from './queue-faults.ts'
import { parseValue, type SharedValues } from './port.ts'

type Sharing = {
  values: Pick<SharedValues, 'read' | 'replace' | 'nowMs'>
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

/** A limit as it stands in the queue, in the time of its clock: the moment of the next turn, and the end of the last pause. */
const stored = z.object({ nextMs: z.number(), pausedUntilMs: z.number() })

/** How far ahead a turn is believed, with hundreds of workers that wait for theirs: further ahead, another clock wrote it. */
const FARTHEST = { ms: 600_000, turns: 100 }

/**
 * Takes the next turn of a limit, `spacingMs` after the one before, whichever worker had that. During a pause none is taken, and with a
 * spacing of 0 there are only pauses. `pauseMs` begins a pause, or lengthens one.
 */
export async function takeTurn(
  values: Sharing['values'],
  name: string,
  { spacingMs: spacing, pauseMs }: { spacingMs: number; pauseMs: number },
): Promise<{ turnInMs: number; pausedMs: number }> {
  for (;;) {
    const [text, nowMs] = await Promise.all([values.read(`limit:${name}`), values.nowMs()])
    const before = (text === undefined ? undefined : parseValue(stored, text)) ?? { nextMs: 0, pausedUntilMs: 0 }
    const isBelieved = before.nextMs <= nowMs + FARTHEST.ms + FARTHEST.turns * spacing
    const turnMs = isBelieved ? Math.max(nowMs, before.nextMs) : nowMs
    const pausedUntilMs = pauseMs > 0 ? Math.max(before.pausedUntilMs, nowMs + pauseMs) : before.pausedUntilMs
    const taken = { turnInMs: turnMs - nowMs, pausedMs: Math.max(0, pausedUntilMs - nowMs) }
    const after = JSON.stringify({ nextMs: turnMs + (pausedUntilMs > nowMs ? 0 : spacing), pausedUntilMs })
    const isOnlyAsked = spacing === 0 && pauseMs === 0
    // Another worker may have been faster.
    if (isOnlyAsked || (await values.replace(`limit:${name}`, text, after))) return taken
  }
}

/** How long an answer may take before the limit counts as away. */
const ANSWER_MS = 1000
const UNREAD_MS = 100
/** A request is not sent on news of pauses that is older, nor on a turn that came so long ago. */
const STALE_MS = 250
/** Without a number of requests, the last ones that the service allows start so far apart: the first refusal pauses the others. */
const SCARCE = { share: 2, spacingMs: 250 }

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
  /** The requests of one worker do not take each other's turns. */
  readonly #oneAfterAnother = pLimit(1)
  #isScarce = false
  #askedMs = -Infinity
  #pausedUntilMs = 0
  /** A pause of this worker that the queue does not know yet. */
  #untoldUntilMs = 0
  #isAway = false
  /** While away: the moment of the next turn of this worker's share. */
  #nextOwnMs = 0

  /** While away: one question waits for the queue to be back; it takes no turn. */
  readonly #look = oneAtATime(() =>
    this.#ask(0).then(
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
    const spacing = this.#spacingMs || (this.#isScarce ? SCARCE.spacingMs : 0)
    let isLate = spacing > 0
    while (isLate) {
      const turnMs = await this.#take(spacing)
      if (monotonicMs() < this.#pausedUntilMs) break
      if (turnMs > monotonicMs()) await sleep(turnMs - monotonicMs(), signal)
      // This process was stopped or busy for a while.
      isLate = monotonicMs() - turnMs > STALE_MS
    }
    if (monotonicMs() - this.#askedMs > STALE_MS) await this.#take(0)
    signal.throwIfAborted()
    return { pausedUntilMs: this.#pausedUntilMs }
  }

  pauseUntil(untilMs: number): void {
    if (untilMs <= this.#pausedUntilMs) return
    this.#pausedUntilMs = untilMs
    this.#untoldUntilMs = untilMs
    void this.#take(0)
  }

  shareOf(remaining: number): number {
    const workers = this.#sharing.workers()
    this.#isScarce = workers > 1 && remaining <= SCARCE.share * workers
    return Math.floor(remaining / workers)
  }

  /** Takes a turn, so far after the one before, and returns its moment; 0 asks for pauses alone. */
  async #take(spacing: number): Promise<number> {
    if (this.#isAway) {
      void this.#look()
      return this.#takeOwn(spacing)
    }
    const asked = this.#ask(spacing)
    try {
      // When this process was busy for so long, the answer may have come and not been read.
      const inTime = (await within(asked, ANSWER_MS, undefined)) ?? (await within(asked, UNREAD_MS, undefined))
      if (inTime !== undefined) return inTime
      throw new Error(`no answer within ${ANSWER_MS / 1000} s`)
    } catch (error) {
      this.#setAway(true, error)
      return this.#takeOwn(spacing)
    }
  }

  async #ask(spacing: number): Promise<number> {
    const { values, monotonicMs } = this.#sharing
    const untoldUntilMs = this.#untoldUntilMs
    const [sentMs, { turnInMs, pausedMs }] = await this.#oneAfterAnother(async () => {
      const atMs = monotonicMs()
      const pauseMs = Math.max(0, untoldUntilMs - atMs)
      return [atMs, await takeTurn(values, this.#name, { spacingMs: spacing, pauseMs })] as const
    })
    if (untoldUntilMs === this.#untoldUntilMs) this.#untoldUntilMs = 0
    // The clock of the database was read about half way between the question and the answer.
    const readMs = (sentMs + monotonicMs()) / 2
    this.#askedMs = sentMs
    if (pausedMs > 0) this.#pausedUntilMs = Math.max(this.#pausedUntilMs, readMs + pausedMs)
    return readMs + turnInMs
  }

  #takeOwn(spacing: number): number {
    const turnMs = Math.max(this.#sharing.monotonicMs(), this.#nextOwnMs)
    this.#nextOwnMs = turnMs + spacing * this.#sharing.workers()
    this.#askedMs = turnMs
    return turnMs
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
