import { setTimeout as timer } from 'node:timers/promises'

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** Sleeps by the timers of the process. */
export const sleep: Sleep = async (ms, signal) => {
  try {
    await timer(Math.min(Math.ceil(ms), LONGEST_TIMER_MS), undefined, { signal })
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}

/** A longer timer would fire at once. A caller that waits longer checks the clock and sleeps again. */
const LONGEST_TIMER_MS = 2_147_483_647
