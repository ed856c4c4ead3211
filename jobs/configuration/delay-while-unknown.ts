import { DelayedError, type Job } from 'bullmq'
import { backoffMs } from '../../src/time/backoff.ts'
import type { Organization } from '../../src/config/organization.ts'
import { withPutOff } from '../pauses/put-off.ts'
import { payload, type Payload } from '../queue/queues.ts'
import { abandon, isLocked } from '../run/locked-job.ts'
import type { Timings } from '../timings.ts'

export type Knowing = {
  organizationOf: (id: string) => Organization | undefined
  mayComeLater: () => Promise<boolean>
  listener: { onUnknown?(organization: string): void }
  timings: Pick<Timings, 'unknownWaitMs' | 'longestUnknownWaitMs' | 'lockMs'>
  /** Unix milliseconds. */
  now: () => number
  /** The last start of the job does what it can with what is known. */
  mostStarts: number
  /** The same where the accepted configuration lacks the organization: its file may be on the way. */
  mostStartsIfGone: number
}

/**
 * Delays the job of an organization that is not in the configuration of this worker, and may come yet: then it throws, and the job uses no
 * attempt. Returns where the organization is known, or has been waited for long enough.
 */
export async function delayWhileUnknown(
  job: Job<Payload>,
  token: string | undefined,
  { organizationOf, mayComeLater, listener, timings, now, mostStarts, mostStartsIfGone }: Knowing,
  isKnown: (organization: Organization | undefined) => boolean = (organization) => organization !== undefined,
): Promise<void> {
  const id = payload.safeParse(job.data).data?.organization
  if (id === undefined || isKnown(organizationOf(id)) || job.attemptsStarted >= mostStarts) return
  const most = (await mayComeLater()) ? mostStarts : mostStartsIfGone
  if (isKnown(organizationOf(id)) || job.attemptsStarted >= most) return
  listener.onUnknown?.(id)
  if (!(await isLocked(job, token, timings))) return abandon()
  const { unknownWaitMs: firstMs, longestUnknownWaitMs: longestMs } = timings
  const waitMs = backoffMs(job.attemptsStarted, 1, { firstMs, longestMs })
  const untilMs = now() + waitMs
  await job.updateProgress(withPutOff(job, { why: 'configuration', untilMs }))
  await job.moveToDelayed(untilMs, token)
  throw new DelayedError()
}
