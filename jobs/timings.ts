/** How long things take and how often they are done, in milliseconds. */
export type Timings = {
  /** A job whose worker has not been heard of for so long is given to another. */
  lockMs: number
  /** How often workers look for such jobs. */
  stalledMs: number
  /** How often schedules are compared with the configuration. */
  reconcileMs: number
  /** A wait of the service up to this is sat out inside the run; a longer one goes back to the queue. */
  longestWaitMs: number
  /** How long to leave an organization alone that a run outside this queue holds. */
  leasedWaitMs: number
  /** How long to leave a mirror alone that is locked, or whose disk is full. */
  mirrorWaitMs: number
  /** The first wait before a retry is up to this, the next up to twice as much, and so on up to the longest. */
  firstRetryMs: number
  longestRetryMs: number
  /** How long a stop waits for pages under way, and then for the queue to let go. Together under ten seconds. */
  handBackMs: number
  closeMs: number
  /** How often to look whether a lost queue is back. */
  lookMs: number
  /** How long workers pause when the queue refuses them: first about this, then twice as long each time, up to the longest. */
  firstPauseMs: number
  longestPauseMs: number
  /** How long workers must not fail for the queue to be said to work again. Longer than an idle worker waits for a job. */
  settleMs: number
}

export const TIMINGS: Timings = {
  lockMs: 60_000,
  stalledMs: 30_000,
  reconcileMs: 300_000,
  longestWaitMs: 30_000,
  leasedWaitMs: 30_000,
  mirrorWaitMs: 30_000,
  firstRetryMs: 30_000,
  longestRetryMs: 900_000,
  handBackMs: 5000,
  closeMs: 7000,
  lookMs: 2000,
  firstPauseMs: 1000,
  longestPauseMs: 60_000,
  settleMs: 10_000,
}
