/** At most `requests` in each `windowMs` milliseconds, in fixed windows unless `window` says otherwise. */
export type ServiceLimit = { requests: number; windowMs: number; window?: 'fixed' | 'sliding' | undefined }

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
 * Counts in windows. A refused request is not counted. A fixed window starts with the first request after the end of the one before, as in
 * Laravel; a sliding one looks back from each request, so that none holds more than the limit, wherever it begins.
 */
export function rateLimiter({ requests, windowMs, window }: ServiceLimit): RateLimiter {
  const passed: number[] = []
  return (nowMs) => {
    const isOver = (atMs = nowMs) => atMs <= nowMs - windowMs
    while (isOver(passed[0])) passed.splice(0, window === 'sliding' ? 1 : passed.length)
    const allowed = passed.length < requests
    if (allowed) passed.push(nowMs)
    const endMs = (passed[0] ?? nowMs) + windowMs
    return {
      allowed,
      limit: requests,
      remaining: requests - passed.length,
      retryAfterSeconds: Math.ceil((endMs - nowMs) / 1000),
      resetUnixSeconds: Math.ceil(endMs / 1000),
    }
  }
}
