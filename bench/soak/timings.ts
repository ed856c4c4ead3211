import type { Timings } from '../../jobs/timings.ts'

/**
 * Shorter than those of users, by the option of `runWorker` that only tests and this soak have, so that lost locks, retries and
 * missed runs fit into minutes. The lease of a run in the mirror lasts a minute, as for users.
 */
export const SOAK_TIMINGS: Partial<Timings> = {
  lockMs: 15_000,
  stalledMs: 5000,
  catchUpMs: 15_000,
  leasedWaitMs: 5000,
  mirrorWaitMs: 5000,
  firstRetryMs: 2000,
  longestRetryMs: 10_000,
}
