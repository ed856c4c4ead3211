import { setTimeout as sleep } from 'node:timers/promises'

/** The result of `work`, or `late` when it takes longer than `ms`. The work itself continues. */
export async function within<Result, Late>(work: Promise<Result>, ms: number, late: Late): Promise<Result | Late> {
  const stop = new AbortController()
  // The later of the two is ignored, even if it fails.
  work.catch(() => {})
  try {
    return await Promise.race([work, sleep(ms, late, { signal: stop.signal })])
  } finally {
    stop.abort()
  }
}
