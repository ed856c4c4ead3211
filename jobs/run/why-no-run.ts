import { z } from 'zod'
import { isForGood } from '../../src/errors/error-facts.ts'
import { pauseOf } from '../../src/model/pause.ts'
import type { Trigger } from '../../src/model/report.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import { isFarAhead } from '../../src/time/moments.ts'
import { version } from '../../src/machine/version.ts'
import { progressOf } from '../queue/port.ts'
import { isAsked } from '../queue/queues.ts'
import { isDue, wasReadSince, type Wanted } from '../schedule/due-runs.ts'
import { delayUntil, type Processing, type SyncJob, type WhyNone, type WhyNotNeeded } from './run-for-job.ts'

/** A worker of the right version finds a job within five minutes. */
const MOST_WAITS = 20

/** Leaves a job of a newer version to a worker of that: it uses none of its attempts, and waits a little longer each time. */
export async function leaveToOthers(
  job: SyncJob,
  token: string | undefined,
  { listener, now, timings }: Pick<Processing, 'listener' | 'now' | 'timings'>,
): Promise<void> {
  const asked = z.looseObject({ version: z.string() }).safeParse(job.data)
  if (!asked.success || !isNewer(asked.data.version)) return
  const waitMs = timings.leftWaitMs * Math.min(job.attemptsStarted, MOST_WAITS)
  const report = () => listener.onNoRun?.(job.data.organization, 'newer-version')
  await delayUntil(job, token, now() + waitMs, { report })
}

/** Whether a version is newer than that of this program, number by number. */
export function isNewer(other: string, own = version()): boolean {
  return other.localeCompare(own, 'en', { numeric: true }) > 0
}

/** A wait whose end is not known is looked at again after this time. When its pause ends, the job is started at once. */
const LOOK_AGAIN_MS = 86_400_000

/** Puts the job off without using one of its attempts while its organization is paused. */
export async function putOffWhilePaused(
  job: SyncJob,
  token: string | undefined,
  { listener, pauses, now }: Pick<Processing, 'listener' | 'pauses' | 'now'>,
): Promise<void> {
  const paused = pauseOf(await pauses.latest(), job.data.organization, now())
  const progress = progressOf(job)
  if (paused === undefined) {
    if (progress.wait?.why === 'pause') await job.updateProgress({ ...progress, wait: undefined })
    return
  }
  const { untilMs } = paused
  // Before the job is delayed: a pause that ends now starts what is noted as put off.
  await job.updateProgress({ ...progress, wait: { why: 'pause', untilMs } })
  const report = () => listener.onNoRun?.(job.data.organization, 'paused', untilMs)
  await delayUntil(job, token, untilMs ?? now() + LOOK_AGAIN_MS, { report })
}

export type JobAtStart = {
  trigger: Trigger
  /** When the run was asked for: a catch-up knows of no run that has ended since then. Unix milliseconds. */
  askedAtMs: number
  /** The due time that the job is for; undefined where a person asked for its run. */
  dueMs: number | undefined
  /** How often it was started, this time included. */
  starts: number
  lastRun: LastRun | undefined
  nowMs: number
}

/**
 * Why the run of a job is not needed; undefined if it is. Several workers that start together, or one that puts the job of a due time into
 * the queue and one that catches up, ask for the same run: while a job is in the queue it stands for both, but it may have ended between
 * the look and the request.
 */
export function whyNotNeeded(job: JobAtStart): WhyNotNeeded | undefined {
  const { trigger, lastRun, starts, askedAtMs, dueMs, nowMs } = job
  // The worker of an earlier start ended after its run and before its job.
  if (starts > 1 && lastRun?.status === 'complete' && lastRun.startedAtMs >= askedAtMs) return 'ended-before'
  if (dueMs === undefined) return undefined
  if (wasReadSince(dueMs, lastRun, nowMs)) return 'read-since'
  if (lastRun?.status !== 'failed' || !isForGood(lastRun.errorCode ?? '')) return undefined
  // A worker that starts tries once again what failed before, but not what failed since.
  const [failedAtMs, sinceMs] =
    trigger === 'schedule' ? [lastRun.startedAtMs, dueMs] : [lastRun.endedAtMs ?? 0, askedAtMs]
  return failedAtMs >= sinceMs && !isFarAhead(failedAtMs, nowMs) ? 'refused-since' : undefined
}

/** Looks up why the run of a job that starts is not needed. A mirror that cannot be read decides nothing: the run reports that. */
export async function findWhyNotNeeded(
  { id = '', name: trigger, data: { organization, dueMs }, timestamp: askedAtMs, attemptsStarted: starts }: SyncJob,
  { mirror, queues, now }: Pick<Processing, 'mirror' | 'queues' | 'now'>,
): Promise<WhyNotNeeded | undefined> {
  const [lastRun] = await mirror.listLastRuns({ organization }).catch(() => [])
  const why = whyNotNeeded({ trigger, askedAtMs, dueMs, starts, lastRun, nowMs: now() })
  // Only then, because it costs a look into the queue.
  return why !== undefined && dueMs !== undefined && (await isAsked(queues.sync, { id, organization }))
    ? undefined
    : why
}

export type Situation = {
  /** Without one, no run is due. */
  wanted: Wanted | undefined
  /** The state of the job that reads the whole list; undefined where there is none. */
  fullRun: string | undefined
  lastRun: LastRun | undefined
  /** How long an interrupted run is continued. */
  resumeWithinMs: number
  nowMs: number
  /** Whether a person asked for the quick run: then it is made although a full run is due, or the last one was refused. */
  isAsked: boolean
}

/** Why no quick run is to be made now; undefined if one is. */
export function whyNoQuickRun(situation: Situation): WhyNone | undefined {
  const { wanted, fullRun, lastRun, resumeWithinMs, nowMs } = situation
  if (fullRun !== undefined) return 'full-run'
  // A full run goes on where it was interrupted, or waits for the service.
  const waits = lastRun?.status === 'interrupted' || lastRun?.status === 'waiting'
  if (waits && Math.abs(nowMs - lastRun.startedAtMs) <= resumeWithinMs) return 'unfinished'
  if (situation.isAsked) return undefined
  if (wanted !== undefined && isDue(wanted, lastRun, nowMs)) return 'due'
  return isForGood(lastRun?.quickErrorCode ?? '') ? 'refused' : undefined
}
