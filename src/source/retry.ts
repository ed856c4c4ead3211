import { backoffMs } from '../time/durations.ts'
import { factsOf, RateLimited, refusalIn } from '../errors/errors.ts'
import type { Asking, RateLimit } from './rate-limit.ts'
import { SHORTEST_PAUSE_MS } from './retry-after.ts'
import { type Sleep, sleep as timerSleep } from '../machine/timers.ts'

/** A run waits until `untilMs`, in Unix time. `status`: what the service answered, if it did; `attempt` numbers the request that follows the wait. */
export type WaitingEvent = {
  kind: 'waiting'
  reason: 'rate-limited' | 'unavailable' | 'mirror-gone'
  waitMs: number
  untilMs: number
  status?: number | undefined
  attempt?: number | undefined
}

export type RetryOptions = {
  rateLimit: RateLimit
  /** A single wait longer than this is left to the caller. */
  longestWaitMs: number
  /** The longest stretch without any successful answer, from the first refusal on. */
  maxWaitMs: number
  /** Unix milliseconds, to sign with and to name the moment a wait ends; the clock may be set at any time. */
  now: () => number
  monotonicMs: () => number
  random: () => number
  sleep?: Sleep | undefined
  onEvent?: ((event: WaitingEvent) => void) | undefined
}

/**
 * Asks again after a refusal, within budgets. Everything asked through one retry shares the stretch without a success, and its budget:
 *
 *              refused: the stretch begins
 *   succeeding ──────────────────────────▶ refused ──▶ the budget is spent: the refusal is thrown
 *        ▲                                    │ ▲
 *        └─────────────── succeeded ──────────┘ └─ refused again, after a wait
 */
export class Retry {
  readonly #options: RetryOptions
  #refusedSinceMs: number | undefined
  #waiting = 0
  #waitingSinceMs = 0
  #finishedMs = 0
  #reportedUntilMs = -Infinity

  constructor(options: RetryOptions) {
    this.#options = options
  }

  /** Milliseconds during which at least one request was waiting: time counts once, however many wait through it. */
  get waitedMs(): number {
    return this.#finishedMs + (this.#waiting > 0 ? this.#options.monotonicMs() - this.#waitingSinceMs : 0)
  }

  /** Runs `attempt` until it succeeds, is refused for good, or a budget is spent; then its last error is thrown. */
  async ask<T>(attempt: () => Promise<T>, { signal, stop = signal, mayAskMore }: Asking): Promise<T> {
    const { rateLimit, monotonicMs } = this.#options
    let refusal: unknown
    for (let tries = 1; ;) {
      stop.throwIfAborted()
      if (rateLimit.pausedUntilMs > monotonicMs()) await this.#waitOutPause(refusal, tries, stop)
      const tried = await rateLimit.admit(() => this.#tryOnce(attempt, tries, { signal, mayAskMore }), { signal, stop })
      if (tried === undefined) continue
      if (tried.succeeded) return tried.result
      refusal = tried.refusal
      tries += 1
      if (factsOf(refusal).askAgain !== 'retry') continue
      if (this.#exceedsBudget(tried.waitMs)) throw refusal
      await this.#wait(tried.waitMs, { reason: 'unavailable', refusal, attempt: tries }, stop)
    }
  }

  /** Throws an error that is final; returns a refusal after which to ask again, with the wait it needs. */
  async #tryOnce<T>(attempt: () => Promise<T>, tries: number, { signal, mayAskMore }: Asking): Promise<Tried<T>> {
    const { rateLimit, monotonicMs } = this.#options
    try {
      const result = await attempt()
      this.#refusedSinceMs = undefined
      return { succeeded: true, result }
    } catch (error) {
      signal.throwIfAborted()
      const waitMs = waitBeforeNext(error, tries, this.#options.random)
      if (waitMs === undefined) throw error
      this.#refusedSinceMs ??= monotonicMs()
      // Set before the turn ends: the next in line must not start into the same refusal.
      if (factsOf(error).askAgain === 'wait') rateLimit.pauseUntil(monotonicMs() + waitMs)
      if (mayAskMore?.(error) === false) throw error
      return { succeeded: false, refusal: error, waitMs }
    }
  }

  async #waitOutPause(refusal: unknown, attempt: number, signal: AbortSignal): Promise<void> {
    const { rateLimit, monotonicMs } = this.#options
    const leftMs = () => rateLimit.pausedUntilMs - monotonicMs()
    for (let waitMs = leftMs(); waitMs > 0; waitMs = leftMs()) {
      this.#refusedSinceMs ??= monotonicMs()
      // It may name a shorter wait, which another request has extended since.
      const isNamed = factsOf(refusal).askAgain === 'wait' && (refusalIn(refusal).waitMs ?? waitMs) >= waitMs - 1000
      if (this.#exceedsBudget(waitMs)) throw isNamed ? refusal : notSent(waitMs)
      await this.#wait(waitMs, { reason: 'rate-limited', refusal, attempt }, signal)
    }
  }

  #exceedsBudget(waitMs: number): boolean {
    const { monotonicMs, longestWaitMs, maxWaitMs } = this.#options
    const stretchMs = this.#refusedSinceMs === undefined ? 0 : monotonicMs() - this.#refusedSinceMs
    return waitMs > longestWaitMs || stretchMs + waitMs > maxWaitMs
  }

  async #wait(waitMs: number, why: Waiting, signal: AbortSignal): Promise<void> {
    const { monotonicMs, sleep = timerSleep } = this.#options
    this.#report(waitMs, why)
    if (this.#waiting === 0) this.#waitingSinceMs = monotonicMs()
    this.#waiting += 1
    try {
      await sleep(waitMs, signal)
    } finally {
      this.#waiting -= 1
      if (this.#waiting === 0) this.#finishedMs += monotonicMs() - this.#waitingSinceMs
    }
  }

  /** Reports a wait once, however many requests share it: those refused together are asked to wait until nearly the same moment. */
  #report(waitMs: number, { reason, refusal, attempt }: Waiting): void {
    const { now, monotonicMs, onEvent } = this.#options
    const untilMs = monotonicMs() + waitMs
    if (untilMs <= this.#reportedUntilMs + 500) return
    this.#reportedUntilMs = untilMs
    const { status } = refusalIn(refusal)
    onEvent?.({ kind: 'waiting', reason, status, attempt, waitMs, untilMs: now() + waitMs })
  }
}

type Waiting = Pick<WaitingEvent, 'reason' | 'attempt'> & { refusal: unknown }

type Tried<T> = { succeeded: true; result: T } | { succeeded: false; refusal: unknown; waitMs: number }

/** Tries in all for a request that fails without naming a wait. */
const ATTEMPTS = 5
const BACKOFF = { firstMs: 1000, longestMs: 30_000 }

/** Milliseconds until the next try; undefined when there is to be none. */
function waitBeforeNext(error: unknown, tries: number, random: () => number): number | undefined {
  const { askAgain } = factsOf(error)
  if (askAgain === 'never') return undefined
  const { status, waitMs } = refusalIn(error)
  if (askAgain === 'wait' || status === 503)
    return waitMs ?? Math.max(SHORTEST_PAUSE_MS, backoffMs(tries, random(), BACKOFF))
  return tries < ATTEMPTS ? backoffMs(tries, random(), BACKOFF) : undefined
}

/** For a request that was never sent, because the answer to another one asked to wait. */
function notSent(waitMs: number): RateLimited {
  const seconds = Math.ceil(waitMs / 1000)
  const message = `Not sent: the service asked for a pause, which every request under this rate limit keeps; ${seconds} s of it are left. Ask again after that.`
  return new RateLimited(message, { code: 'rate-limited', status: 429, waitMs })
}
