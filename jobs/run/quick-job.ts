import { UnrecoverableError } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { factsOf } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import { jobStateOf, payload, type Counts, type Queues } from '../queue/queues.ts'
import type { EndOfQuickRun } from './end-of-quick-run.ts'
import { endingSoon } from './ending-soon.ts'
import { runForJob } from './run-for-job.ts'
import { isFullRunOn, whyNoQuickRun, type WhyNone } from './why-no-quick-run.ts'
import {
  countsOf,
  endOutdated,
  handBack,
  isOutdated,
  organizationOf,
  reasonOf,
  type JobSignals,
  type Processing,
  type SyncJob,
} from './sync-job.ts'

export type QuickProcessing = Omit<Processing, 'isAsked'> & { queues: Pick<Queues, 'sync'> }

/**
 * Makes a quick run of the organization of a job, unless a full run is due, under way or unfinished; and stops it after its current
 * pages when a full run begins. Quick runs are never retried.
 */
export async function quickRunForJob(
  job: SyncJob,
  { lost, cancelled }: JobSignals,
  processing: QuickProcessing,
): Promise<Counts> {
  const { organization: id } = payload.parse(job.data)
  const organization = await organizationOf(id, processing)
  const why = organization === undefined ? 'not-scheduled' : await whyNone(organization, job, processing)
  if (organization === undefined || why !== undefined)
    return end(processing, { organization: id, end: 'skipped', why: why ?? 'not-scheduled' })

  const fullRun = watchFullRun(id, processing)
  const signals = [processing.stop, cancelled, fullRun.began, ...(lost === undefined ? [] : [lost])]
  try {
    const running = runForJob(organization, job, AbortSignal.any(signals), processing, { quick: true })
    const outcome = await endingSoon(running, processing.stop, processing.timings.handBackMs)
    if (outcome !== undefined && isOutdated(outcome)) {
      await endOutdated(outcome.error, processing)
      return await handBack(job, job.token)
    }
    return outcome === undefined ? {} : end(processing, ended(id, outcome))
  } finally {
    fullRun.stop()
  }
}

async function whyNone(
  { id, schedule, resumeWithinMs }: Organization,
  { name }: SyncJob,
  { queues, mirror, now }: QuickProcessing,
): Promise<WhyNone | undefined> {
  const isAsked = name === 'manual'
  if (!isAsked && schedule?.quick === undefined) return 'not-scheduled'
  const [fullRun, [lastRun]] = await Promise.all([
    jobStateOf(queues.sync, id),
    mirror.listLastRuns({ organization: id }),
  ])
  return whyNoQuickRun({
    wanted: schedule && { organization: id, schedule },
    fullRun,
    lastRun,
    resumeWithinMs,
    nowMs: now(),
    isAsked,
  })
}

/** Looks now and then whether a full run of the organization begins. While the queue does not answer, there is none. */
function watchFullRun(
  organization: string,
  { queues, timings }: QuickProcessing,
): { began: AbortSignal; stop: () => void } {
  const began = new AbortController()
  const look = async () => {
    if (isFullRunOn(await jobStateOf(queues.sync, organization).catch(() => undefined))) began.abort()
  }
  const timer = setInterval(() => void look(), timings.quickLookMs)
  return { began: began.signal, stop: () => clearInterval(timer) }
}

function ended(organization: string, outcome: Outcome): EndOfQuickRun {
  const { report, error } = outcome
  if (error === undefined) return { organization, end: 'partial', outcome }
  const { from } = factsOf(error)
  if (from === 'other-run' && report.runId === undefined) return { organization, end: 'skipped', why: 'leased' }
  const gaveWay = from === 'stop' || from === 'cancel' || from === 'limit' || from === 'other-run'
  return { organization, end: gaveWay ? 'stopped' : 'failed', outcome }
}

function end({ listener }: QuickProcessing, quickRun: EndOfQuickRun): Counts {
  listener.onQuickRun?.(quickRun)
  if (quickRun.end === 'skipped') return {}
  const { outcome } = quickRun
  // The job of a cancelled run says so, although its run is no failure.
  if (quickRun.end === 'failed' || factsOf(outcome.error).from === 'cancel')
    throw new UnrecoverableError(reasonOf(outcome))
  return countsOf(outcome.report)
}
