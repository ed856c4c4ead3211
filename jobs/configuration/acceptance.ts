/**
 * Which of several different files is the accepted configuration of a queue. Each worker knows since when its file is wanted: a file that
 * changed while the worker ran, since then; the file with which it started, since it was last modified. The later one is accepted,
 * so that a worker with an older file cannot push a newer one out. A configuration that no worker renews is abandoned, and any other
 * may follow it.
 */

/** The accepted configuration, as it stands in the queue. Times in Unix milliseconds. */
export type Accepted = { hash: string; changedMs: number }

/** What a worker has read. `isReadable` is false after a reading that found mistakes; then the rest is what was read before it. */
export type Own = { hash: string; changedMs: number; isReadable: boolean }

export type Limits = {
  /** How long a worker leaves the accepted configuration unrenewed. */
  renewMs: number
  /** After so long without being renewed it is abandoned. */
  abandonedMs: number
}

/** `offer`: write the own configuration. `renew`: say that the accepted one is still in use. */
export type Step = 'offer' | 'renew' | 'wait'

/** What a worker does next. `unrenewedMs`: for how long this worker has seen the accepted configuration unrenewed, by its own clock. */
export function nextStep(own: Own, accepted: Accepted | undefined, unrenewedMs: number, limits: Limits): Step {
  const isOwn = accepted?.hash === own.hash
  const isLater = accepted === undefined || own.changedMs > accepted.changedMs
  if (own.isReadable && (isLater || (!isOwn && unrenewedMs >= limits.abandonedMs))) return 'offer'
  // A worker whose file is broken still runs on what it read before it.
  return isOwn && unrenewedMs >= limits.renewMs ? 'renew' : 'wait'
}

/** Whether the worker may write and remove schedules. */
export function mayWrite(own: Own, accepted: Accepted | undefined): boolean {
  return own.isReadable && accepted?.hash === own.hash
}

/**
 * Since when a file is wanted that changed under a worker. Its clock may be behind the one of the worker whose configuration it last
 * saw accepted.
 */
export function changedNow(nowMs: number, seen: Accepted | undefined): number {
  return Math.max(nowMs, (seen?.changedMs ?? 0) + 1)
}

/**
 * Since when a file is wanted that is there at the start, in whole milliseconds as the queue keeps it: a file would be later than itself. A
 * date in the future comes from a wrong clock.
 */
export function changedBefore(modifiedMs: number, nowMs: number): number {
  return Math.max(0, Math.floor(Math.min(modifiedMs, nowMs)))
}
