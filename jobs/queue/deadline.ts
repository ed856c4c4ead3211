import { setTimeout as sleep } from 'node:timers/promises'

/** What `work` comes to, or `late` when it takes longer than `ms`. The work itself goes on. */
export async function within<Result, Late>(work: Promise<Result>, ms: number, late: Late): Promise<Result | Late> {
  const stop = new AbortController()
  // Whichever comes second is nobody's concern, a failure included.
  work.catch(() => {})
  try {
    return await Promise.race([work, sleep(ms, late, { signal: stop.signal })])
  } finally {
    stop.abort()
  }
}
