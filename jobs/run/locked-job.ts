import { DelayedError, type Job } from 'bullmq'
import { within } from '../queue/deadline.ts'

/** How long to wait for the queue: a run that has ended is reported although the queue is gone. */
const ASK_MS = 2000

/**
 * Whether the job is still locked under this token, which renews the lock; false when another worker took it over, or the queue lost it.
 * A queue that does not answer counts as yes: it refuses what comes under a lost token.
 */
export async function isLocked(
  job: Pick<Job, 'extendLock'>,
  token: string | undefined,
  { lockMs }: { lockMs: number },
): Promise<boolean> {
  const renewed = job.extendLock(token ?? '', lockMs).then((rows) => rows > 0)
  return within(renewed, ASK_MS, true).catch(() => true)
}

/** Ends the work on a job whose lock is lost without a word about it to the queue: another worker has it, or will have it. */
export function abandon(): never {
  throw new DelayedError('the lock of this job was lost')
}

/** Does the work of a job, and abandons the job when its lock was lost meanwhile. */
export async function unlessLost<Result>(
  job: Parameters<typeof isLocked>[0],
  token: string | undefined,
  timings: { lockMs: number },
  work: Promise<Result>,
): Promise<Result> {
  await work.catch(() => {})
  return (await isLocked(job, token, timings)) ? work : abandon()
}
