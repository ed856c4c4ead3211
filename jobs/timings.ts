/** Durations and intervals, in milliseconds. `configLookMs` and the like: how often to look whether something has changed. */
export const TIMINGS = {
  /** After this time without a heartbeat of its worker, a job goes to another worker. */
  lockMs: 30_000,
  /** How often workers look for such jobs. */
  stalledMs: 10_000,
  /** How often to look at the clock for due times: no timer fires while the machine sleeps, and the clock may be set. */
  dueLookMs: 1000,
  /** How often to look for missed runs. */
  catchUpMs: 300_000,
  configLookMs: 1000,
  /** How often to tell the other workers the hash of the configuration. */
  configShareMs: 30_000,
  /** Waits for the service up to this happen inside the run; for longer ones the job goes back to the queue. */
  longestWaitMs: 30_000,
  /** How long a job waits that is left to other workers: so long at first, and longer each time. */
  leftWaitMs: 15_000,
  /** How long to wait for an organization that a run outside this queue holds. */
  leasedWaitMs: 20_000,
  cancelLookMs: 1000,
  /** How long to wait for a mirror that is locked, or whose disk is full. */
  mirrorWaitMs: 30_000,
  /** The first wait before a retry is up to this, the next up to twice as much, and so on up to the longest. */
  firstRetryMs: 30_000,
  longestRetryMs: 900_000,
  /** How long a stop waits for current pages, and then for the queue to close. Both within seven seconds. */
  handBackMs: 4000,
  closeMs: 5500,
  /** How often to look for pauses that began or ended, and how long to wait for a write that shows that a queue is back. */
  lookMs: 2000,
  /** How long workers pause while the queue fails: first about this, then twice as long each time, up to the longest. */
  firstPauseMs: 1000,
  longestPauseMs: 60_000,
  /** How long workers must not fail until the queue is reported as working. Longer than an idle worker waits for a job. */
  settleMs: 10_000,
  publishLookMs: 5000,
  /** A copy is made when no run was under way for so long, so that a night with many organizations makes one copy. */
  publishQuietMs: 60_000,
  /** Where runs follow each other without such a pause, it is made so long after the first change. */
  publishLatestMs: 3_600_000,
  /** The least time from one copy to the next, and from one that failed to the next attempt. */
  publishRestMs: 600_000,
  notifyLookMs: 5000,
  /** The least time from one attempt to report a night to the next. Longer than an attempt takes. */
  notifyPauseMs: 20_000,
}

export type Timings = typeof TIMINGS
