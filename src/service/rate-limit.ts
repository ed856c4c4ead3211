/** At most `requests` in each `windowMs` milliseconds. */
export type RateLimit = { requests: number; windowMs: number }

/** What the limiter says about one request, in the words of the headers that describe it. */
type Turn = {
  allowed: boolean
  limit: number
  remaining: number
  /** Whole seconds until the window ends, at least 1. */
  retryAfterSeconds: number
  /** The Unix second in which the window has ended. */
  resetUnixSeconds: number
}

/** Counts a request made at `nowMs` and says whether it may pass. */
export type RateLimiter = (nowMs: number) => Turn

/**
 * Counts in fixed windows, as Laravel does: a window opens with the first request after the one before has ended, and a
 * request that is turned away is not counted.
 */
export function rateLimiter({ requests, windowMs }: RateLimit): RateLimiter {
  let endMs = -Infinity
  let used = 0
  return (nowMs) => {
    if (nowMs >= endMs) {
      endMs = nowMs + windowMs
      used = 0
    }
    const allowed = used < requests
    if (allowed) used += 1
    return {
      allowed,
      limit: requests,
      remaining: requests - used,
      retryAfterSeconds: Math.ceil((endMs - nowMs) / 1000),
      resetUnixSeconds: Math.ceil(endMs / 1000),
    }
  }
}
