import { DelayedError } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { WindowClosed } from '../../src/errors/errors.ts'
import { pauseOf, type Pause } from '../../src/pause.ts'
import { windowText } from '../../src/config/settings/window.ts'
import { putOffOf, withPutOff, type PutOff } from './put-off.ts'
import type { Counts } from '../queue/queues.ts'
import { closesAt, isOpenAt, opensAfter } from '../schedule/run-hours.ts'
import type { PauseWatch } from './pause-watch.ts'
import type { Processing, SyncJob } from '../run/sync-job.ts'

type Schedule = Organization['schedule']

/** Why a run that no person asked for may not start now; undefined if it may. */
function whyNotNow(schedule: Schedule, paused: Pause | undefined, nowMs: number): PutOff | undefined {
  if (paused !== undefined) return { why: 'pause', untilMs: paused.untilMs }
  if (schedule === undefined || isOpenAt(schedule, nowMs)) return undefined
  return { why: 'window', untilMs: opensAfter(schedule, nowMs) }
}

export type Allowing = Pick<Processing, 'organizationOf' | 'isAsked' | 'now' | 'listener' | 'timings'> & {
  pauses: Pick<PauseWatch, 'latest'>
}

/** A wait whose end is not known is looked at again after this time. When its pause ends, the job is started at once. */
const LOOK_AGAIN_MS = 86_400_000

/**
 * Does the work of a job, or puts the job off without using one of its attempts: while its organization is paused, and outside the
 * hours in which runs may start. `closed` is aborted with WindowClosed when these hours end.
 */
export async function whenAllowed(
  job: SyncJob,
  token: string | undefined,
  allowing: Allowing,
  work: (closed: AbortSignal) => Promise<Counts>,
): Promise<Counts> {
  const putOff = await findWhyNotNow(job, allowing)
  if (putOff !== undefined) {
    await job.updateProgress(withPutOff(job, putOff))
    await job.moveToDelayed(putOff.untilMs ?? allowing.now() + LOOK_AGAIN_MS, token)
    allowing.listener.onPutOff?.(job.data.organization, putOff)
    throw new DelayedError()
  }
  if (putOffOf(job) !== undefined) await job.updateProgress(withPutOff(job, undefined))
  return duringWindow(job, allowing, work)
}

/** Does the work of a quick job, or leaves it out for the same reasons. */
export async function quickWhenAllowed(
  job: SyncJob,
  quick: Omit<Allowing, 'isAsked'>,
  work: (closed: AbortSignal) => Promise<Counts>,
): Promise<Counts> {
  const allowing = { ...quick, isAsked: async () => false }
  const putOff = await findWhyNotNow(job, allowing)
  if (putOff === undefined) return duringWindow(job, allowing, work)
  const why = putOff.why === 'pause' ? 'paused' : 'window'
  allowing.listener.onQuickRun?.({ organization: job.data.organization, end: 'skipped', why })
  return {}
}

async function findWhyNotNow(job: SyncJob, allowing: Allowing): Promise<PutOff | undefined> {
  const organization = allowing.organizationOf(job.data.organization)
  // The run of an unknown organization reports that it is unknown.
  if (organization === undefined) return undefined
  const { id, schedule } = organization
  const nowMs = allowing.now()
  const paused = pauseOf(await allowing.pauses.latest(), id, nowMs)
  const putOff = whyNotNow(schedule, paused, nowMs)
  // A run that a person asked for starts at any hour, but no paused one. To find out costs a look into the queue.
  const mustWait = putOff !== undefined && (putOff.why === 'pause' || !(await isAskedFor(job, allowing)))
  return mustWait ? putOff : undefined
}

async function isAskedFor({ name, id = '' }: SyncJob, { isAsked }: Allowing): Promise<boolean> {
  return name === 'manual' || (await isAsked(id).catch(() => false))
}

async function duringWindow(
  job: SyncJob,
  allowing: Allowing,
  work: (closed: AbortSignal) => Promise<Counts>,
): Promise<Counts> {
  const { organizationOf, now, timings } = allowing
  const schedule = organizationOf(job.data.organization)?.schedule
  const closesMs = schedule && closesAt(schedule, now())
  const closing = new AbortController()
  if (closesMs === undefined || (await isAskedFor(job, allowing))) return work(closing.signal)
  // By looking at the clock: no timer fires while the machine sleeps, and the clock may be set.
  const look = () => {
    if (now() >= closesMs) closing.abort(windowClosed(job.data.organization, schedule))
  }
  const timer = setInterval(look, timings.lookMs)
  try {
    return await work(closing.signal)
  } finally {
    clearInterval(timer)
  }
}

function windowClosed(organization: string, schedule: Schedule): WindowClosed {
  const hours = schedule?.window === undefined ? '' : ` (${windowText(schedule.window)}, ${schedule.timezone})`
  return new WindowClosed(
    `${organization}: the hours in which runs may start are over${hours}. What was read so far is saved, and the run goes on when ` +
      'they begin again.',
  )
}
