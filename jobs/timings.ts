/** Durations and intervals, in milliseconds. */
export type Timings = {
  /** After this time without a heartbeat of its worker, a job goes to another worker. */
  lockMs: number
  /** How often workers look for such jobs. */
  stalledMs: number
  /** How often to look for missed runs. */
  catchUpMs: number
  /** How often to look whether the configuration file has changed. */
  configLookMs: number
  /** How often to tell the other workers the hash of the configuration. */
  configShareMs: number
  /** Waits for the service up to this happen inside the run; for longer ones the job goes back to the queue. */
  longestWaitMs: number
  /** How long a job waits that is left to other workers: so long at first, and longer each time. */
  leftWaitMs: number
  /** How long to wait for an organization that a run outside this queue holds. */
  leasedWaitMs: number
  /** How often a quick run looks for a full run of its organization, and that one for the end of the quick run. */
  quickLookMs: number
  /** How often a worker with runs looks whether a person cancelled one of them. */
  cancelLookMs: number
  /** How long to wait for a mirror that is locked, or whose disk is full. */
  mirrorWaitMs: number
  /** The first wait before a retry is up to this, the next up to twice as much, and so on up to the longest. */
  firstRetryMs: number
  longestRetryMs: number
  /** How long a stop waits for current pages, and then for the queue to close. Both within seven seconds. */
  handBackMs: number
  closeMs: number
  /** How often to check whether a lost queue is back. */
  lookMs: number
  /** How long workers pause when the queue refuses them: first about this, then twice as long each time, up to the longest. */
  firstPauseMs: number
  longestPauseMs: number
  /** How long workers must not fail until the queue is reported as working. Longer than an idle worker waits for a job. */
  settleMs: number
  /** How often to look whether the copy for readers is to be made anew. */
  publishLookMs: number
  /** It is made when no run was under way for so long, so that a night with many organizations makes one copy. */
  publishQuietMs: number
  /** Where runs follow each other without such a pause, it is made so long after the first change. */
  publishLatestMs: number
  /** The least time from one copy to the next, and from one that failed to the next attempt. */
  publishRestMs: number
  /** How often to look whether a night has ended that is to be reported. */
  notifyLookMs: number
  /** The least time from one attempt to report a night to the next. Longer than an attempt takes. */
  notifyPauseMs: number
}

export const TIMINGS: Timings = {
  lockMs: 30_000,
  stalledMs: 10_000,
  catchUpMs: 300_000,
  configLookMs: 1000,
  configShareMs: 30_000,
  longestWaitMs: 30_000,
  leftWaitMs: 15_000,
  leasedWaitMs: 20_000,
  quickLookMs: 500,
  cancelLookMs: 1000,
  mirrorWaitMs: 30_000,
  firstRetryMs: 30_000,
  longestRetryMs: 900_000,
  handBackMs: 4500,
  closeMs: 6000,
  lookMs: 2000,
  firstPauseMs: 1000,
  longestPauseMs: 60_000,
  settleMs: 10_000,
  publishLookMs: 5000,
  publishQuietMs: 60_000,
  publishLatestMs: 3_600_000,
  publishRestMs: 600_000,
  notifyLookMs: 5000,
  notifyPauseMs: 20_000,
}
