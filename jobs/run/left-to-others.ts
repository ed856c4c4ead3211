import { DelayedError } from 'bullmq'
import { z } from 'zod'
import { version } from '../../src/version.ts'
import { within } from '../queue/deadline.ts'
import type { Counts } from '../queue/queues.ts'
import type { Processing, SyncJob } from './sync-job.ts'

/**
 * Why a job is left to other workers: a newer version of the program asked for it, the queue has another mirror than this worker, or
 * its organization is not in the configuration of this worker.
 */
export type WhyLeft = 'newer-version' | 'another-mirror' | 'another-configuration'

export type Leaving = Pick<Processing, 'listener' | 'now' | 'timings'> & {
  /** What is wrong where the queue has another mirror than this worker. */
  anotherMirror: () => Promise<string | undefined>
}

/** Does the work of a job, or leaves the job to another worker: it uses none of its attempts, and waits a little longer each time. */
export async function unlessForOthers(
  job: SyncJob,
  token: string | undefined,
  leaving: Leaving,
  work: () => Promise<Counts>,
): Promise<Counts> {
  const why = await whyLeft(job, leaving)
  if (why === undefined) return work()
  const waitMs = leaving.timings.leftWaitMs * Math.min(job.attemptsStarted, MOST_WAITS)
  await job.moveToDelayed(leaving.now() + waitMs, token)
  leaving.listener.onLeft?.(job.data.organization, why)
  throw new DelayedError()
}

/** A worker of the right version, or with the right mirror, finds a job within five minutes. */
const MOST_WAITS = 20

async function whyLeft({ data }: SyncJob, { anotherMirror }: Leaving): Promise<WhyLeft | undefined> {
  const asked = z.looseObject({ version: z.string() }).safeParse(data)
  if (asked.success && isNewer(asked.data.version)) return 'newer-version'
  // A mirror that cannot be read is reported by the run, and so is one that is gone and made anew by it.
  const another = await within(anotherMirror(), ASK_MS, undefined).catch(() => undefined)
  return another === undefined ? undefined : 'another-mirror'
}

const ASK_MS = 2000

/** Whether a version is newer than that of this program, number by number. */
export function isNewer(other: string, own = version()): boolean {
  return other.localeCompare(own, 'en', { numeric: true }) > 0
}
