import type { Job } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { isForGood } from '../../src/errors/error-facts.ts'
import { version } from '../../src/machine/version.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import type { Trigger } from '../../src/model/report.ts'
import { isFarAhead } from '../../src/time/moments.ts'
import { jobStateOf, type Payload, type Queues } from '../queue/queues.ts'
import { isDue, wasReadSince } from '../schedule/due-runs.ts'
import { betweenNights } from '../schedule/due-times.ts'

/**
 * Why a job makes no run now. It is left to other workers: `newer-version` asked for it, or its organization is in `another-configuration`. It
 * is not needed: the list was read since it was due, that failed for good, or an earlier start of the job read it. Its organization is
 * `paused`. And for a partial run: there is no line for one; the organization has the job of a full run, such a run is due, or is to be
 * continued; or the last one was refused.
 */
export type WhyNone = 'newer-version' | 'another-configuration' | WhyNotNeeded | 'paused' | WhyNotPartial
type WhyNotNeeded = 'read-since' | 'refused-since' | 'ended-before'
type WhyNotPartial = 'not-scheduled' | 'full-run' | 'due' | 'unfinished' | 'refused'

type Looking = {
  queues: Pick<Queues, 'sync'>
  now: () => number
}

/** Whether a newer version of the program made the job. */
export function isNewer({ version: other }: Pick<Payload, 'version'>, own = version()): boolean {
  return typeof other === 'string' && other.localeCompare(own, 'en', { numeric: true }) > 0
}

/** A job that starts. Its `timestamp` says when the run was asked for: a catch-up knows of no run that has ended since then. */
export type JobAtStart = Pick<Job<Payload, void, Trigger>, 'name' | 'timestamp' | 'attemptsStarted'> & {
  data: Pick<Payload, 'dueMs'>
}

/** Why the full run of a job is not needed: several workers ask for the same run, and it may have ended between look and request. */
export function whyNotNeeded(
  { name: trigger, timestamp: askedAtMs, attemptsStarted: starts, data: { dueMs } }: JobAtStart,
  lastRun: LastRun | undefined,
  nowMs: number,
): WhyNotNeeded | undefined {
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

/** Why no partial run is to be made now; undefined if one is. A person gets one although a full run is due, or the last one was refused. */
export async function whyNoPartialRun(
  configured: Pick<Organization, 'id' | 'schedule' | 'resumeWithinMs'> | undefined,
  { name: trigger }: { name: string },
  lastRun: LastRun | undefined,
  { queues, now }: Looking,
): Promise<WhyNone | undefined> {
  const isWanted = trigger === 'manual'
  if (
    configured === undefined ||
    (!isWanted && (configured.schedule && betweenNights(configured.schedule)) === undefined)
  )
    return 'not-scheduled'
  const { id: organization, schedule, resumeWithinMs } = configured
  if ((await jobStateOf(queues.sync, organization)) !== undefined) return 'full-run'
  const nowMs = now()
  // A full run goes on where it was interrupted, or waits for the service.
  const waits = lastRun?.status === 'interrupted' || lastRun?.status === 'waiting'
  if (waits && Math.abs(nowMs - lastRun.startedAtMs) <= resumeWithinMs) return 'unfinished'
  if (isWanted) return undefined
  if (schedule !== undefined && isDue(organization, schedule, lastRun, nowMs)) return 'due'
  return isForGood(lastRun?.partialErrorCode ?? '') ? 'refused' : undefined
}
