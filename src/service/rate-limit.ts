/** At most `requests` in each `windowMs` milliseconds. */
export type RateLimit = { requests: number; windowMs: number }

/** The limiter's answer to one request, in the terms of its headers. */
type Turn = {
  allowed: boolean
  limit: number
  remaining: number
  /** Whole seconds until the window ends, at least 1. */
  retryAfterSeconds: number
  /** The Unix second at which the window ends. */
  resetUnixSeconds: number
}

/** Counts a request made at `nowMs`, and returns whether it may pass. */
export type RateLimiter = (nowMs: number) => Turn

/**
 * Counts in fixed windows, as Laravel does: a window starts with the first request after the end of the window before, and a
 * refused request is not counted.
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
