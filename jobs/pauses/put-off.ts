import { DelayedError } from 'bullmq'
import { z } from 'zod'
import { pauseOf, type Pause } from '../../src/pause.ts'
import type { Counts } from '../queue/queues.ts'
import type { Processing, SyncJob } from '../run/sync-job.ts'
import type { PauseWatch } from './pause-watch.ts'

/** A job that waits for the end of a pause, in Unix milliseconds; undefined where the end is not known. */
export type PutOff = { untilMs: number | undefined }

type Progressing = { progress: unknown }

const putOff = z.object({ putOff: z.object({ untilMs: z.number().optional() }) })

/** Until when a job was put off when it was last started; undefined if it was not. */
export function putOffOf({ progress }: Progressing): PutOff | undefined {
  const parsed = putOff.safeParse(progress)
  return parsed.success ? { untilMs: parsed.data.putOff.untilMs } : undefined
}

/** The progress of a job with this about it; the rest of it stays. */
function withPutOff({ progress }: Progressing, found: PutOff | undefined): object {
  const { putOff: _before, ...rest } = z.looseObject({}).catch({}).parse(progress)
  return found === undefined ? rest : { ...rest, putOff: found }
}

type Allowing = Pick<Processing, 'now' | 'listener'> & { pauses: Pick<PauseWatch, 'latest'> }

/** A wait whose end is not known is looked at again after this time. When its pause ends, the job is started at once. */
const LOOK_AGAIN_MS = 86_400_000

/** Does the work of a job, or puts the job off without using one of its attempts while its organization is paused. */
export async function unlessPaused(
  job: SyncJob,
  token: string | undefined,
  allowing: Allowing,
  work: () => Promise<Counts>,
): Promise<Counts> {
  const paused = await findPause(job, allowing)
  if (paused !== undefined) {
    const { untilMs } = paused
    await job.updateProgress(withPutOff(job, { untilMs }))
    await job.moveToDelayed(untilMs ?? allowing.now() + LOOK_AGAIN_MS, token)
    allowing.listener.onPutOff?.(job.data.organization, { untilMs })
    throw new DelayedError()
  }
  if (putOffOf(job) !== undefined) await job.updateProgress(withPutOff(job, undefined))
  return work()
}

/** Does the work of a quick job, or leaves it out while its organization is paused. */
export async function quickUnlessPaused(
  job: SyncJob,
  allowing: Allowing,
  work: () => Promise<Counts>,
): Promise<Counts> {
  if ((await findPause(job, allowing)) === undefined) return work()
  allowing.listener.onQuickRun?.({ organization: job.data.organization, end: 'skipped', why: 'paused' })
  return {}
}

async function findPause({ data: { organization } }: SyncJob, { pauses, now }: Allowing): Promise<Pause | undefined> {
  return pauseOf(await pauses.latest(), organization, now())
}
