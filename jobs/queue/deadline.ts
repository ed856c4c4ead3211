import { setTimeout as sleep } from 'node:timers/promises'

/** How long a connection may take to close, of which nothing is expected any more: a server that does not answer does not close it either. */
export const LONGEST_CLOSE_MS = 100

/** The result of `work`, or `late` when it takes longer than `ms`, or `signal` is aborted before. The work itself continues. */
export async function within<Result, Late>(
  work: Promise<Result>,
  ms: number,
  late: Late,
  signal?: AbortSignal,
): Promise<Result | Late> {
  const stop = new AbortController()
  const ends = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
  // The later of the two is ignored, even if it fails.
  work.catch(() => {})
  try {
    return await Promise.race([work, sleep(ms, late, { signal: ends }).catch(() => late)])
  } finally {
    stop.abort()
  }
}

/** Whether `work` succeeds within `ms`. */
export async function succeedsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const succeeded = work.then(
    () => true,
    () => false,
  )
  return within(succeeded, ms, false)
}
