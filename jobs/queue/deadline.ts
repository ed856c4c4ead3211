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

/** Whether `work` succeeds. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** Starts the work, or waits for that which is under way. */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> | undefined
  return () =>
    (underWay ??= work().finally(() => {
      underWay = undefined
    }))
}

/** Does the work again and again, one at a time, from now on; a failure is ignored, since the next try follows. */
export function repeatedly(everyMs: number, work: () => Promise<void>): { now: () => Promise<void>; stop: () => void } {
  const now = oneAtATime(() => work().catch(() => {}))
  const timer = setInterval(() => void now(), everyMs).unref()
  void now()
  return { now, stop: () => clearInterval(timer) }
}
