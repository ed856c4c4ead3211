import pLimit from 'p-limit'
import { type Sleep, sleep as timerSleep } from './sleep.ts'

/**
 * How many requests run at once and how fast they start, for one organization, or for all that share a rate limit.
 * A pause holds back everybody who shares the rateLimit.
 */
export type RateLimit = {
  /** The moment of the monotonic clock until which no request may be made; in the past when none is held back. */
  readonly pausedUntilMs: number
  /** Runs `task` when its turn comes. A pause that began meanwhile gives the turn back without running it. */
  admit<T>(task: () => Promise<T>, options: Stopping): Promise<Turn<T>>
  /** Holds everybody back until then, and lets them come back one at a time. */
  pauseUntil(untilMs: number): void
  /** A request succeeded, with this many left in the rate limit, where the service says. */
  succeeded(remaining: number | undefined): void
}

/**
 * Aborting `signal` ends everything at once. Aborting `stop`, where it is given, ends all waiting and lets a request that
 * is under way finish; it must abort with `signal` too.
 */
export type Stopping = { signal: AbortSignal; stop?: AbortSignal | undefined }

type Turn<T> = { paused: true } | { paused: false; value: T }

export type RateLimitOptions = {
  concurrency: number
  /** Starts are spread evenly, so that no minute holds more than this many. */
  requestsPerMinute?: number | undefined
  monotonicMs: () => number
  sleep?: Sleep | undefined
}

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { concurrency, requestsPerMinute, monotonicMs, sleep = timerSleep } = options
  const turns = pLimit(concurrency)
  const spacingMs = requestsPerMinute === undefined ? 0 : 60_000 / requestsPerMinute
  let pausedUntilMs = 0
  let nextStartMs = 0
  let inFlight = 0

  async function spread(signal: AbortSignal): Promise<void> {
    const startMs = Math.max(monotonicMs(), nextStartMs)
    nextStartMs = startMs + spacingMs
    if (monotonicMs() < startMs) await sleep(startMs - monotonicMs(), signal)
  }

  /** Resolves when a place is free, with what gives it back; an abort gives up waiting for one. */
  async function enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const { promise: entered, resolve } = Promise.withResolvers<() => void>()
    const giveUp = () => resolve(() => {})
    signal.addEventListener('abort', giveUp)
    void turns(() => (signal.aborted ? undefined : new Promise<void>((leave) => resolve(leave))))
    const leave = await entered
    signal.removeEventListener('abort', giveUp)
    if (signal.aborted) leave()
    signal.throwIfAborted()
    return leave
  }

  /** Looking for work costs something even when the number stays the same. */
  function allow(atOnce: number): void {
    if (turns.concurrency !== atOnce) turns.concurrency = atOnce
  }

  return {
    get pausedUntilMs() {
      return pausedUntilMs
    },
    async admit(task, { signal, stop = signal }) {
      const leave = await enter(signal)
      try {
        stop.throwIfAborted()
        if (spacingMs > 0) await spread(stop)
        if (monotonicMs() < pausedUntilMs) return { paused: true }
        inFlight += 1
        try {
          const value = await task()
          // What came too late for an abort is dropped, so that nobody goes on with it.
          signal.throwIfAborted()
          return { paused: false, value }
        } finally {
          inFlight -= 1
        }
      } finally {
        leave()
      }
    },
    pauseUntil(untilMs) {
      pausedUntilMs = Math.max(pausedUntilMs, untilMs)
      // Everybody coming back in the same instant would be refused together again.
      allow(1)
    },
    succeeded(remaining) {
      if (remaining !== undefined && remaining <= inFlight) allow(1)
      else if (remaining === undefined || remaining > concurrency) allow(concurrency)
    },
  }
}
