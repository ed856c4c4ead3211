import { within } from '../queue/deadline.ts'
import type { Reserved, SharedLimits, Wanted } from './shared-limits.ts'

/** The shared limit could not be reached, so each worker keeps to its share of it; or it is reached again. */
export type LimitEvent =
  | { kind: 'limit-away'; limit: string; workers: number; error: unknown }
  | { kind: 'limit-back'; limit: string }

export type LimitShareOptions = {
  limits: SharedLimits
  name: string
  /** 0 where the limit has no number of requests, only pauses. */
  spacingMs: number
  /** Names this worker among the others. */
  worker: string
  monotonicMs: () => number
  /** How often to look whether a lost queue is back. */
  lookMs: number
  onEvent?: ((event: LimitEvent) => void) | undefined
}

/** How long a reservation may take before the queue counts as lost. */
const ANSWER_MS = 1000
const UNREAD_MS = 100
/** A question to a lost queue that never settles is asked anew after so long. */
const LOST_MS = 30_000

/**
 * Turns under a limit that is kept in the queue. `reserve` never rejects and never hangs:
 *
 *            no answer, or an error: reported
 *   shared ──────────────────────────────────▶ away: the turns of this worker are as far apart as if every
 *      ▲                                        │     worker seen lately took the same share of the limit
 *      └──────── an answer: reported ───────────┘
 */
export class LimitShare {
  readonly #options: LimitShareOptions
  #workers = 1
  #isAway = false
  /** While away: the moment of the next turn of this worker's share. */
  #nextShareMs = 0
  /** Questions that are neither answered nor refused: the client of a lost queue keeps them. */
  #unanswered = 0
  #askedMs = 0
  /** The latest pause of this worker, and whether the queue knows it. */
  #pausedUntilMs = 0
  #isPauseKnown = true

  constructor(options: LimitShareOptions) {
    this.#options = options
  }

  /** Workers that used the limit lately, with this one. */
  get workers(): number {
    return this.#workers
  }

  /** Reserves at most so many turns, so far apart; 0 asks for the pause alone. */
  async reserve(turns: number, spacingMs: number = this.#options.spacingMs): Promise<Reserved> {
    if (!this.#isAway) {
      const reserved = await this.#ask(turns, spacingMs)
      if (reserved !== undefined) return reserved
    } else this.#look()
    return this.#share(turns, spacingMs)
  }

  /** Reports a pause to the other workers, at once or when the queue is back. */
  pauseUntil(untilMs: number): void {
    if (untilMs <= this.#pausedUntilMs) return
    this.#pausedUntilMs = untilMs
    this.#isPauseKnown = false
    void this.reserve(0)
  }

  /** Undefined when there is no answer; then the limit is away. */
  async #ask(turns: number, spacingMs: number): Promise<Reserved | undefined> {
    const { worker, monotonicMs } = this.#options
    const sentMs = (this.#askedMs = monotonicMs())
    const pausedUntilMs = this.#pausedUntilMs
    const pauseMs = this.#isPauseKnown ? 0 : Math.max(0, pausedUntilMs - sentMs)
    try {
      const sending = this.#send({ turns, spacingMs, pauseMs, worker })
      // When this process was busy for so long, the answer may have come and not been read.
      const inTime = await within(sending, ANSWER_MS, undefined)
      const reserved = inTime ?? (await within(sending, UNREAD_MS, undefined))
      if (reserved === undefined) throw new Error(`no answer within ${ANSWER_MS / 1000} s`)
      if (pausedUntilMs === this.#pausedUntilMs) this.#isPauseKnown = true
      this.#workers = reserved.workers
      this.#setAway(false)
      // The clock of the database was read about half way between the question and the answer.
      const sinceMs = (monotonicMs() - sentMs) / 2
      return {
        ...reserved,
        firstInMs: reserved.firstInMs - sinceMs,
        pausedMs: Math.max(0, reserved.pausedMs - sinceMs),
      }
    } catch (error) {
      this.#setAway(true, error)
      return undefined
    }
  }

  async #send(wanted: Wanted): Promise<Reserved> {
    const { limits, name } = this.#options
    this.#unanswered += 1
    try {
      return await limits.reserve(name, wanted)
    } finally {
      this.#unanswered -= 1
    }
  }

  /** Asks a lost queue in the background, one question at a time. */
  #look(): void {
    const { spacingMs, monotonicMs, lookMs } = this.#options
    const restMs = this.#unanswered > 0 ? LOST_MS : lookMs
    if (monotonicMs() >= this.#askedMs + restMs) void this.#ask(0, spacingMs)
  }

  #share(turns: number, spacingMs: number): Reserved {
    const nowMs = this.#options.monotonicMs()
    const granted = Math.min(turns, 1)
    const firstMs = Math.max(nowMs, this.#nextShareMs)
    this.#nextShareMs = firstMs + granted * spacingMs * this.#workers
    return { turns: granted, firstInMs: firstMs - nowMs, pausedMs: 0, workers: this.#workers }
  }

  #setAway(isAway: boolean, error?: unknown): void {
    const { name: limit, spacingMs, monotonicMs, onEvent } = this.#options
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    if (!isAway) return onEvent?.({ kind: 'limit-back', limit })
    // The turn before may just have been taken.
    this.#nextShareMs = monotonicMs() + spacingMs * this.#workers
    onEvent?.({ kind: 'limit-away', limit, workers: this.#workers, error })
  }
}
