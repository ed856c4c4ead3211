import type { SharedTurns } from '../../src/source/pace/rate-limit.ts'
import { type Sleep, sleep as timerSleep } from '../../src/machine/timers.ts'
import type { LimitShare } from './limit-share.ts'

export type ReservedTurnsOptions = {
  share: Pick<LimitShare, 'reserve' | 'pauseUntil' | 'workers'>
  /** 0 where the limit has no number of requests, only pauses. */
  spacingMs: number
  monotonicMs: () => number
  sleep?: Sleep | undefined
}

/** Turns are reserved for so long at once, so that a dead worker wastes little; and so late they may still be taken. */
const BATCH_MS = 250
/** A request is not sent on news of pauses that is older. */
const NEWS_MS = 250
/**
 * Without a number of requests, the last ones that the service still allows several workers start so far apart: the first that is
 * refused pauses the others before they are refused too.
 */
const SCARCE = { share: 2, spacingMs: 250 }

/**
 * The requests of this worker under a shared limit. They stand in one line, and the first waits:
 *
 *   in line ──▶ first ──▶ has a turn ──▶ its moment ──▶ news of pauses is fresh ──▶ sent
 *                 │  ▲        │                                 │
 *    none is left │  │        │ more than a batch too late      │ paused: sent back
 *                 ▼  │        ▼
 *              a batch is reserved
 */
export class ReservedTurns implements SharedTurns {
  readonly #options: ReservedTurnsOptions
  readonly #sleep: Sleep
  readonly #mostAtOnce: number
  #line: Promise<void> = Promise.resolve()
  #waiting = 0
  /** Moments of the monotonic clock, in order. */
  #turns: number[] = []
  #asking: Promise<void> | undefined
  #askedMs = -Infinity
  #lastBatch = 1
  #takenSince = 0
  #pausedUntilMs = 0
  #isScarce = false

  constructor(options: ReservedTurnsOptions) {
    const { spacingMs, sleep = timerSleep } = options
    this.#options = options
    this.#sleep = sleep
    this.#mostAtOnce = spacingMs === 0 ? 0 : Math.max(1, Math.floor(BATCH_MS / spacingMs))
  }

  async next(signal: AbortSignal): Promise<{ pausedUntilMs: number }> {
    if (this.#mostAtOnce > 0 || this.#isScarce) await this.#inLine(() => this.#waitForTurn(signal), signal)
    await this.#hearNews()
    signal.throwIfAborted()
    return { pausedUntilMs: this.#pausedUntilMs }
  }

  pauseUntil(untilMs: number): void {
    this.#notePause(untilMs)
    this.#options.share.pauseUntil(untilMs)
  }

  shareOf(remaining: number): number {
    const { workers } = this.#options.share
    this.#isScarce = workers > 1 && remaining <= SCARCE.share * workers
    return Math.floor(remaining / workers)
  }

  /** Runs `wait` after those of all requests before. A request that leaves the line does not hold up those behind. */
  async #inLine(wait: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const before = this.#line
    const after = Promise.withResolvers<void>()
    this.#line = after.promise
    this.#waiting += 1
    try {
      await unlessAborted(before, signal)
      await wait()
    } finally {
      this.#waiting -= 1
      void before.then(after.resolve)
    }
  }

  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const { monotonicMs } = this.#options
    while (!this.#isPaused()) {
      signal.throwIfAborted()
      const turnMs = this.#turns[0]
      if (turnMs === undefined) {
        await unlessAborted(this.#reserve(this.#wanted()), signal)
        continue
      }
      if (this.#lastBatch > 1 && this.#turns.length <= this.#lastBatch / 2) void this.#reserve(this.#wanted())
      if (turnMs > monotonicMs()) await this.#sleep(turnMs - monotonicMs(), signal)
      // A pause that became known meanwhile, or this program being stopped for a while, has taken it away.
      if (this.#turns[0] !== turnMs) continue
      this.#turns.shift()
      if (monotonicMs() - turnMs > BATCH_MS) continue
      this.#takenSince += 1
      return
    }
  }

  /** The same question reserves a turn for the next in line. */
  async #hearNews(): Promise<void> {
    if (this.#options.monotonicMs() - this.#askedMs <= NEWS_MS) return
    const isAwaited = this.#waiting > 0 && this.#turns.length === 0 && !this.#isPaused()
    await this.#reserve(isAwaited ? this.#wanted() : 0)
  }

  /** As many as were taken lately in the time of a batch, and a turn for each request that waits. */
  #wanted(): number {
    const sinceMs = this.#options.monotonicMs() - this.#askedMs
    const lately = Math.ceil((this.#takenSince * BATCH_MS) / Math.max(1, sinceMs))
    return Math.min(Math.max(1, this.#mostAtOnce), Math.max(this.#waiting, Math.min(lately, 2 * this.#lastBatch)))
  }

  /** One question at a time: requests that come meanwhile wait for the same answer. */
  #reserve(turns: number): Promise<void> {
    return (this.#asking ??= this.#ask(turns).finally(() => (this.#asking = undefined)))
  }

  async #ask(wanted: number): Promise<void> {
    const { share, monotonicMs } = this.#options
    const askedMs = monotonicMs()
    const spacingMs = this.#options.spacingMs || SCARCE.spacingMs
    const { turns, firstInMs, pausedMs } = await share.reserve(wanted, spacingMs)
    const nowMs = monotonicMs()
    // No turn without a pause: the pause ended while the answer was under way.
    const leastMs = turns < Math.min(wanted, 1) ? 1 : 0
    if (pausedMs > 0 || leastMs > 0) this.#notePause(nowMs + Math.max(pausedMs, leastMs))
    for (let turn = 0; turn < turns; turn += 1) this.#turns.push(nowMs + firstInMs + turn * spacingMs)
    this.#askedMs = askedMs
    if (wanted === 0) return
    this.#lastBatch = wanted
    this.#takenSince = 0
  }

  #notePause(untilMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs)
    this.#turns = this.#turns.filter((turnMs) => turnMs >= this.#pausedUntilMs)
  }

  #isPaused(): boolean {
    return this.#options.monotonicMs() < this.#pausedUntilMs
  }
}

/** Resolves with the promise, or rejects with the signal's reason as soon as it aborts. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
  const giveUp = () => abort()
  signal.addEventListener('abort', giveUp)
  try {
    await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
  signal.throwIfAborted()
}
