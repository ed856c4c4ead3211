import { setImmediate as nextTurn, setTimeout as timer } from 'node:timers/promises'

/** The monotonic clock of the machine, in whole milliseconds: it never goes back, and all processes read the same. Only entry points call it. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

export const sleep: Sleep = async (ms, signal) => {
  try {
    await timer(Math.min(Math.ceil(ms), LONGEST_TIMER_MS), undefined, { signal })
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}

/** A longer timer would fire at once. A caller that waits longer checks the clock and sleeps again. */
export const LONGEST_TIMER_MS = 2_147_483_647

/** Work that takes so long is begun in one turn of the event loop; more of it waits for a later turn. */
const WORK_MS = 20

/** When the first work of this turn began. */
let beganMs: number | undefined

/** Waits for a turn of the event loop with time for work: were all answers processed in one, timers and health checks would wait for seconds. */
export async function turnWithTime(clockMs: () => number): Promise<void> {
  do await nextTurn()
  while (isFull(clockMs()))
}

function isFull(nowMs: number): boolean {
  if (beganMs !== undefined) return nowMs - beganMs >= WORK_MS
  beganMs = nowMs
  // Called at the beginning of the next turn, before the work that waits for it: that work goes to the end of the queue.
  setImmediate(() => (beganMs = undefined))
  return false
}

/** The result of `work`, or `late` when it takes longer than `ms`, or `signal` is aborted before. The work itself continues. */
export async function within<Result, Late>(work: Promise<Result>, ms: number, late: Late, signal?: AbortSignal) {
  const stop = new AbortController()
  const ends = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
  // The later of the two is ignored, even if it fails.
  work.catch(() => {})
  try {
    return await Promise.race([work, timer(ms, late, { signal: ends }).catch(() => late)])
  } finally {
    stop.abort()
  }
}

export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** Starts the work, or waits for that which is under way. */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> | undefined
  return () => (underWay ??= work().finally(() => (underWay = undefined)))
}

/** Does the work again and again, one at a time, from now on; a failure is ignored, since the next try follows. */
export function repeatedly(everyMs: number, work: () => Promise<void>): { now: () => Promise<void>; stop: () => void } {
  const now = oneAtATime(() => work().catch(() => {}))
  const interval = setInterval(() => void now(), everyMs).unref()
  void now()
  return { now, stop: () => clearInterval(interval) }
}
