import pLimit, { type LimitFunction } from 'p-limit'
import { type Sleep, sleep as timerSleep } from '../machine/timers.ts'

/** Aborting `signal` ends all at once; aborting `stop`, if given, ends all waiting, but no request under way. It must abort with `signal` too. */
export type Stopping = { signal: AbortSignal; stop?: AbortSignal | undefined }

/** `mayAskMore` is asked before a refused request, or another one for its sake, is sent once more; by default it may be. */
export type Asking = Stopping & { mayAskMore?: ((refusal?: unknown) => boolean) | undefined }

/** Turns under a rate limit that other processes share, and its pauses. */
export type SharedTurns = {
  /** Resolves when the next request may start, with the moment until which none may; rejects only with the signal's reason. */
  next(signal: AbortSignal): Promise<{ pausedUntilMs: number }>
  /** Reports a pause to the others. Moments are those of the monotonic clock. */
  pauseUntil(untilMs: number): void
  /** The share of this process in the requests that the service still allows all of them. */
  shareOf(remaining: number): number
}

export type RateLimitOptions = {
  concurrency: number
  /** Requests start at even intervals, so that no minute of the service has more than this many. */
  requestsPerMinute?: number | undefined
  /** Spaces the requests in place of `requestsPerMinute`. */
  shared?: SharedTurns | undefined
  monotonicMs: () => number
  sleep?: Sleep | undefined
}

/** Between the starts of two requests; 0 without a limit. */
export function spacingMs(requestsPerMinute: number | undefined): number {
  return requestsPerMinute === undefined ? 0 : (60_000 + MARGIN_MS) / requestsPerMinute
}

/** Requests arrive a little early or late. Those of a minute are spread over this much more, so that no 60 s hold more than the limit. */
const MARGIN_MS = 600
/** A process that was busy for no longer than this makes up for it. */
const MOST_LATE_MS = 250

/** How many requests under one limit run at once, and how fast they start: each waits for a turn, then its moment. A pause delays all of them. */
export class RateLimit {
  readonly #options: RateLimitOptions
  readonly #turns: LimitFunction
  readonly #spacingMs: number
  /** The moment of the monotonic clock until which no request may be made; in the past when there is no pause. */
  pausedUntilMs = 0
  #nextStartMs = 0
  #inFlight = 0

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#turns = pLimit(options.concurrency)
    this.#spacingMs = spacingMs(options.requestsPerMinute)
  }

  /** Runs `task` when its turn comes. A pause that began meanwhile gives the turn back without running it: undefined. */
  async admit<T>(task: () => Promise<T>, { signal, stop = signal }: Stopping): Promise<T | undefined> {
    const { shared, monotonicMs } = this.#options
    const leave = await this.#enter(stop)
    try {
      if (shared !== undefined) {
        // The pauses of other processes hold here too.
        const { pausedUntilMs } = await shared.next(stop)
        if (pausedUntilMs > this.pausedUntilMs) this.#pause(pausedUntilMs)
      } else if (this.#spacingMs > 0) await this.#waitForMoment(stop)
      if (monotonicMs() < this.pausedUntilMs) return undefined
      this.#inFlight += 1
      const value = await task().finally(() => (this.#inFlight -= 1))
      // A value that comes after the abort is dropped, so that no work continues with it.
      signal.throwIfAborted()
      return value
    } finally {
      leave()
    }
  }

  /** Delays every request until then, and then lets them start one at a time. */
  pauseUntil(untilMs: number): void {
    this.#pause(untilMs)
    this.#options.shared?.pauseUntil(untilMs)
  }

  /** A request succeeded; `stated` is how many more the rate limit allows, if the service says so. */
  succeeded(stated: number | undefined): void {
    const { shared, concurrency } = this.#options
    const remaining = stated === undefined ? Infinity : (shared?.shareOf(stated) ?? stated)
    if (remaining <= this.#inFlight) this.#allow(1)
    else if (remaining > concurrency) this.#allow(concurrency)
  }

  /** Resolves when a turn is free, with what gives it back; an abort ends the wait. */
  async #enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const { promise: entered, resolve } = Promise.withResolvers<() => void>()
    const giveUp = () => resolve(() => {})
    signal.addEventListener('abort', giveUp)
    void this.#turns(() => (signal.aborted ? undefined : new Promise<void>((leave) => resolve(leave))))
    const leave = await entered
    signal.removeEventListener('abort', giveUp)
    if (signal.aborted) leave()
    signal.throwIfAborted()
    return leave
  }

  #pause(untilMs: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, untilMs)
    // Requests that start again in the same instant would all be refused again.
    this.#allow(1)
  }

  /** All wait for the same moment, and the first takes it: after a standstill of this process, none have moments that have passed. */
  async #waitForMoment(signal: AbortSignal): Promise<void> {
    const { monotonicMs, sleep = timerSleep } = this.#options
    const leftMs = () => this.#nextStartMs - monotonicMs()
    for (let waitMs = leftMs(); waitMs > 0; waitMs = leftMs()) await sleep(waitMs, signal)
    const startMs = -leftMs() <= MOST_LATE_MS ? this.#nextStartMs : monotonicMs()
    this.#nextStartMs = startMs + this.#spacingMs
  }

  /** Setting the number makes p-limit look for work, which costs something even when the number stays the same. */
  #allow(atOnce: number): void {
    if (this.#turns.concurrency !== atOnce) this.#turns.concurrency = atOnce
  }
}
