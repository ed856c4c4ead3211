import { factsOf, namedWaitMs, RateLimited, SourceUnavailable } from '../errors.ts'
import type { RateLimit, Stopping } from './rate-limit.ts'
import { type Sleep, sleep as timerSleep } from './sleep.ts'

/** Requests wait, by all of `waitMs`; `untilMs` is a Unix time. */
export type WaitingEvent = { kind: 'waiting'; reason: 'rate-limited' | 'unavailable'; waitMs: number; untilMs: number }

/** Asks again after a refusal, within budgets. */
export type Retry = {
  /** Runs `attempt` until it succeeds, is refused for good, or a budget is spent; then its last error is thrown. */
  ask<T>(attempt: () => Promise<T>, options: Stopping): Promise<T>
  /** Milliseconds during which at least one request was waiting. */
  readonly waitedMs: number
}

export type RetryOptions = {
  rateLimit: RateLimit
  /** How often a request that fails without being told to wait is tried in all. Default 5. */
  attempts?: number | undefined
  /** A single wait longer than this is left to the caller. */
  longestWaitMs: number
  /** The longest stretch without any successful answer, from the first refusal on. */
  maxWaitMs: number
  /** Unix milliseconds, to name the moment a wait ends. */
  now: () => number
  monotonicMs: () => number
  /** Between 0 and 1, as Math.random gives. */
  random: () => number
  sleep?: Sleep | undefined
  onEvent?: ((event: WaitingEvent) => void) | undefined
}

export function createRetry(options: RetryOptions): Retry {
  const {
    rateLimit,
    attempts = DEFAULT_ATTEMPTS,
    longestWaitMs,
    maxWaitMs,
    monotonicMs,
    random,
    sleep = timerSleep,
  } = options
  const waits = createWaits({ ...options, sleep })
  let refusedSinceMs: number | undefined

  async function ask<T>(attempt: () => Promise<T>, { signal, stop = signal }: Stopping): Promise<T> {
    let refusal: unknown
    for (let tries = 1; ;) {
      stop.throwIfAborted()
      if (rateLimit.pausedUntilMs > monotonicMs()) await waitOutPause(refusal, stop)
      const turn = await rateLimit.admit(() => tryOnce(attempt, tries, signal), { signal, stop })
      if (turn.paused) continue
      if (turn.value.succeeded) return turn.value.result
      refusal = turn.value.refusal
      tries += 1
      if (factsOf(refusal).askAgain === 'retry') await waitOutFailure(refusal, turn.value.waitMs, stop)
    }
  }

  /** What ends the asking is thrown; a refusal after which to ask again is returned with the wait it needs. */
  async function tryOnce<T>(attempt: () => Promise<T>, tries: number, signal: AbortSignal): Promise<Tried<T>> {
    try {
      const result = await attempt()
      refusedSinceMs = undefined
      return { succeeded: true, result }
    } catch (error) {
      signal.throwIfAborted()
      const waitMs = waitBeforeNext(error, tries)
      if (waitMs === undefined) throw error
      refusedSinceMs ??= monotonicMs()
      // Set before the turn ends: the next in line must not start into the same refusal.
      if (factsOf(error).askAgain === 'wait') rateLimit.pauseUntil(monotonicMs() + waitMs)
      return { succeeded: false, refusal: error, waitMs }
    }
  }

  /** Milliseconds until the next try; undefined when there is to be none. */
  function waitBeforeNext(error: unknown, tries: number): number | undefined {
    const { askAgain } = factsOf(error)
    if (askAgain === 'never') return undefined
    const isToldToWait = askAgain === 'wait' || (error instanceof SourceUnavailable && error.status === 503)
    if (isToldToWait) return namedWaitMs(error) ?? Math.max(FLOOR_MS, backoffMs(tries, random))
    return tries < attempts ? backoffMs(tries, random) : undefined
  }

  async function waitOutPause(refusal: unknown, signal: AbortSignal): Promise<void> {
    for (
      let waitMs = rateLimit.pausedUntilMs - monotonicMs();
      waitMs > 0;
      waitMs = rateLimit.pausedUntilMs - monotonicMs()
    ) {
      refusedSinceMs ??= monotonicMs()
      if (exceedsBudget(waitMs)) throw tells(refusal, waitMs) ? refusal : heldBack(waitMs)
      await waits.wait(waitMs, 'rate-limited', signal)
    }
  }

  async function waitOutFailure(failure: unknown, waitMs: number, signal: AbortSignal): Promise<void> {
    if (exceedsBudget(waitMs)) throw failure
    await waits.wait(waitMs, 'unavailable', signal)
  }

  function exceedsBudget(waitMs: number): boolean {
    const stretchMs = refusedSinceMs === undefined ? 0 : monotonicMs() - refusedSinceMs
    return waitMs > longestWaitMs || stretchMs + waitMs > maxWaitMs
  }

  return {
    ask,
    get waitedMs() {
      return waits.waitedMs
    },
  }
}

type Tried<T> = { succeeded: true; result: T } | { succeeded: false; refusal: unknown; waitMs: number }

const DEFAULT_ATTEMPTS = 5
const FIRST_BACKOFF_MS = 1000
const LONGEST_BACKOFF_MS = 30_000
/** Somebody who was told to slow down does not ask again within the same second. */
const FLOOR_MS = 1000

/** Exponential backoff with full jitter: anything from nothing to a bound that doubles with every try, up to a cap. */
export function backoffMs(tries: number, random: () => number): number {
  return Math.round(random() * Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tries - 1)))
}

/** Whether a refusal names the wait at hand itself, rather than a shorter one that has been overtaken. */
function tells(refusal: unknown, waitMs: number): boolean {
  return factsOf(refusal).askAgain === 'wait' && (namedWaitMs(refusal) ?? waitMs) >= waitMs - 1000
}

/** For a request that was never sent, because another one was told to wait. */
function heldBack(waitMs: number): RateLimited {
  const seconds = Math.ceil(waitMs / 1000)
  return new RateLimited(
    `Not asked: the service told everybody sharing this rate limit to wait, for ${seconds} s more. Ask again after that.`,
    { waitMs },
  )
}

type Waits = {
  readonly waitedMs: number
  wait(waitMs: number, reason: 'rate-limited' | 'unavailable', signal: AbortSignal): Promise<void>
}

/** Counts time once however many requests wait through it, and tells of a wait once however many share it. */
function createWaits({
  now,
  monotonicMs,
  sleep,
  onEvent,
}: Pick<RetryOptions, 'now' | 'monotonicMs' | 'onEvent'> & { sleep: Sleep }): Waits {
  let waiting = 0
  let waitingSinceMs = 0
  let finishedMs = 0
  let toldUntilMs = -Infinity

  return {
    get waitedMs() {
      return finishedMs + (waiting > 0 ? monotonicMs() - waitingSinceMs : 0)
    },
    async wait(waitMs, reason, signal) {
      const untilMs = monotonicMs() + waitMs
      // Requests refused together are told to wait until nearly the same moment.
      if (untilMs > toldUntilMs + 500) {
        toldUntilMs = untilMs
        onEvent?.({ kind: 'waiting', reason, waitMs, untilMs: now() + waitMs })
      }
      if (waiting === 0) waitingSinceMs = monotonicMs()
      waiting += 1
      try {
        await sleep(waitMs, signal)
      } finally {
        waiting -= 1
        if (waiting === 0) finishedMs += monotonicMs() - waitingSinceMs
      }
    },
  }
}
