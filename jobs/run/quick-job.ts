import { UnrecoverableError } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { factsOf } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { pauseOf } from '../../src/model/pause.ts'
import type { Trigger } from '../../src/model/report.ts'
import type { Backend } from '../queue/port.ts'
import { createQueueWorker, jobStateOf, type Counts, type Payload } from '../queue/queues.ts'
import {
  countsOf,
  type EndOfQuickRun,
  endOutdated,
  handBack,
  isOutdated,
  type JobSignals,
  organizationOf,
  parsePayload,
  type Processing,
  reasonOf,
  runForJob,
  type SyncJob,
  type WhyNone,
} from './run-for-job.ts'
import { leaveToOthers, whyNoQuickRun } from './why-no-run.ts'

/** Quick runs made at the same time by one worker, beside its full runs. */
const AT_ONCE = 4

/** A worker that makes quick runs. It takes no job until it runs. */
export function startQuickWorker(backend: Backend, processing: Processing) {
  const { timings, cancellable } = processing
  return createQueueWorker<Payload, Trigger>(
    backend,
    'quick',
    // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
    async (job, token, lost) => {
      await leaveToOthers(job, token, processing)
      return cancellable.during(job, (cancelled) => quickRunForJob(job, { lost, cancelled }, processing))
    },
    {
      concurrency: AT_ONCE,
      timings,
      // The job of a dead worker is not taken over: the next due time makes a new one.
      maxStalledCount: 0,
    },
  )
}

/**
 * Makes a quick run of the organization of a job, unless it is paused or a full run is due, under way or unfinished; and stops it after its
 * current pages when a full run begins. Quick runs are never retried.
 */
export async function quickRunForJob(
  job: SyncJob,
  { lost, cancelled }: JobSignals,
  processing: Processing,
): Promise<Counts> {
  const { organization: id } = parsePayload(job)
  const organization = await organizationOf(id, processing)
  const why = organization === undefined ? 'not-scheduled' : await whyNone(organization, job, processing)
  if (organization === undefined || why !== undefined)
    return end(processing, { organization: id, end: 'skipped', why: why ?? 'not-scheduled' })

  const fullRun = watchFullRun(id, processing)
  const signals = [processing.stop, cancelled, fullRun.began, ...(lost === undefined ? [] : [lost])]
  try {
    const outcome = await runForJob(organization, job, AbortSignal.any(signals), processing, { quick: true })
    if (outcome !== undefined && isOutdated(outcome)) {
      await endOutdated(outcome.error, processing)
      return await handBack(job, job.token)
    }
    if (outcome === undefined) return {}
    return end(processing, ended(id, outcome))
  } finally {
    fullRun.stop()
  }
}

async function whyNone(
  { id, schedule, resumeWithinMs }: Organization,
  { name }: SyncJob,
  { queues, mirror, pauses, now }: Processing,
): Promise<WhyNone | undefined> {
  if (pauseOf(await pauses.latest(), id, now()) !== undefined) return 'paused'
  const isAsked = name === 'manual'
  if (!isAsked && schedule?.quick === undefined) return 'not-scheduled'
  const [fullRun, [lastRun]] = await Promise.all([
    jobStateOf(queues.sync, id),
    mirror.listLastRuns({ organization: id }),
  ])
  const wanted = schedule && { organization: id, schedule }
  return whyNoQuickRun({ wanted, fullRun, lastRun, resumeWithinMs, nowMs: now(), isAsked })
}

/** Looks now and then whether a full run of the organization begins. While the queue does not answer, there is none. */
function watchFullRun(organization: string, { queues, timings }: Processing): { began: AbortSignal; stop: () => void } {
  const began = new AbortController()
  const look = async () => {
    const state = await jobStateOf(queues.sync, organization).catch(() => undefined)
    if (isFullRunOn(state)) began.abort()
  }
  const timer = setInterval(() => void look(), timings.quickLookMs)
  return { began: began.signal, stop: () => clearInterval(timer) }
}

/** Whether the job that reads the whole list is under way or about to be, so that a quick run must give way to it. */
function isFullRunOn(state: string | undefined): boolean {
  return state === 'active' || state === 'waiting' || state === 'prioritized'
}

function ended(organization: string, outcome: Outcome): EndOfQuickRun {
  const { report, error } = outcome
  if (error === undefined) return { organization, end: 'partial', outcome }
  const { from } = factsOf(error)
  if (from === 'other-run' && report.runId === undefined) return { organization, end: 'skipped', why: 'leased' }
  const gaveWay = from === 'stop' || from === 'cancel' || from === 'limit' || from === 'other-run'
  return { organization, end: gaveWay ? 'stopped' : 'failed', outcome }
}

function end({ listener }: Processing, quickRun: EndOfQuickRun): Counts {
  listener.onQuickRun?.(quickRun)
  if (quickRun.end === 'skipped') return {}
  const { outcome } = quickRun
  // The job of a cancelled run says so, although its run is no failure.
  if (quickRun.end === 'failed' || factsOf(outcome.error).from === 'cancel')
    throw new UnrecoverableError(reasonOf(outcome))
  return countsOf(outcome.report)
}
