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

/** Counts in windows. A refused request is not counted. */
export function rateLimiter(limit: ServiceLimit): RateLimiter {
  return limit.window === 'sliding' ? slidingWindow(limit) : fixedWindows(limit)
}

/** As Laravel does: a window starts with the first request after the end of the window before. */
function fixedWindows({ requests, windowMs }: ServiceLimit): RateLimiter {
  let endMs = -Infinity
  let used = 0
  return (nowMs) => {
    if (nowMs >= endMs) {
      endMs = nowMs + windowMs
      used = 0
    }
    const allowed = used < requests
    if (allowed) used += 1
    return turnOf(allowed, { requests, used }, { nowMs, endMs })
  }
}

/** Looks back over one window from each request: none of them holds more than the limit, wherever it begins. */
function slidingWindow({ requests, windowMs }: ServiceLimit): RateLimiter {
  const passed: number[] = []
  return (nowMs) => {
    while ((passed[0] ?? nowMs) <= nowMs - windowMs) passed.shift()
    const allowed = passed.length < requests
    if (allowed) passed.push(nowMs)
    const endMs = (passed[0] ?? nowMs) + windowMs
    return turnOf(allowed, { requests, used: passed.length }, { nowMs, endMs })
  }
}

function turnOf(
  allowed: boolean,
  { requests, used }: { requests: number; used: number },
  { nowMs, endMs }: { nowMs: number; endMs: number },
): Turn {
  return {
    allowed,
    limit: requests,
    remaining: requests - used,
    retryAfterSeconds: Math.ceil((endMs - nowMs) / 1000),
    resetUnixSeconds: Math.ceil(endMs / 1000),
  }
}
