import { isFarAhead } from '../../src/time/clock-tolerance.ts'
import type { Organization } from '../../src/config/organization.ts'
import type { Trigger } from '../../src/report.ts'
import type { LastRun, Mirror } from '../../src/store.ts'
import { previousDueMs, type Schedule } from '../schedule/due-times.ts'
import { isForGood } from '../../src/errors/error-facts.ts'
import { wasReadSince } from '../schedule/schedule-plan.ts'

/** Why a job ends without a run: the list was read since it was due, that failed for good, or an earlier start of the job read it. */
export type WhyNotNeeded = 'read-since' | 'refused-since' | 'ended-before'

export type JobAtStart = {
  trigger: Trigger
  /** When the run was asked for: a catch-up knows of no run that has ended since then. Unix milliseconds. */
  askedAtMs: number
  /** How long after that the job was to wait. */
  delayMs: number
  /** How often it was started, this time included. */
  starts: number
  schedule: Schedule | undefined
  lastRun: LastRun | undefined
  nowMs: number
}

/**
 * Why the run of a job that no person asked for is not needed; undefined if it is. Several workers that start together, or a tick and a
 * worker that catches up, ask for the same run: while a job is in the queue it stands for both, but it may have ended between the look and
 * the request.
 */
export function whyNotNeeded(job: JobAtStart, organization: string): WhyNotNeeded | undefined {
  const { lastRun, starts, askedAtMs, nowMs } = job
  const isComplete = lastRun?.status === 'complete' && !isFarAhead(lastRun.startedAtMs, nowMs)
  // The worker of an earlier start ended after its run and before its job. A run dated far ahead began by a wrong clock, at an unknown time.
  if (starts > 1 && isComplete && lastRun.startedAtMs >= askedAtMs) return 'ended-before'
  return whyNotDue(job, organization)
}

function whyNotDue(
  { trigger, askedAtMs, delayMs, schedule, lastRun, nowMs }: JobAtStart,
  organization: string,
): WhyNotNeeded | undefined {
  if ((trigger !== 'schedule' && trigger !== 'catch-up') || schedule === undefined) return undefined
  // The clock may have been set back since the job was made.
  const dueMs = previousDueMs(organization, schedule, Math.max(nowMs, askedAtMs + delayMs))
  if (wasReadSince(dueMs, lastRun, nowMs)) return 'read-since'
  if (lastRun?.status !== 'failed' || !isForGood(lastRun.errorCode ?? '')) return undefined
  // A worker that starts tries once again what failed before, but not what failed since.
  const [failedAtMs, sinceMs] =
    trigger === 'schedule' ? [lastRun.startedAtMs, dueMs] : [lastRun.endedAtMs ?? 0, askedAtMs]
  return failedAtMs >= sinceMs && !isFarAhead(failedAtMs, nowMs) ? 'refused-since' : undefined
}

type Asked = {
  name: Trigger
  id?: string | undefined
  timestamp: number
  attemptsStarted: number
  opts: { delay?: number }
}

export type LookingUp = {
  mirror: Pick<Mirror, 'listLastRuns'>
  /** Whether a person asked for the run of the job too. */
  isAsked: (jobId: string) => Promise<boolean>
  now: () => number
}

/** Looks up why the run of a job that starts is not needed. A mirror that cannot be read decides nothing: the run reports that. */
export async function findWhyNotNeeded(
  job: Asked,
  { id, schedule }: Pick<Organization, 'id' | 'schedule'>,
  { mirror, isAsked, now }: LookingUp,
): Promise<WhyNotNeeded | undefined> {
  const [lastRun] = await mirror.listLastRuns({ organization: id }).catch(() => [])
  const { name: trigger, timestamp: askedAtMs, attemptsStarted: starts } = job
  const delayMs = job.opts.delay ?? 0
  const why = whyNotNeeded({ trigger, askedAtMs, delayMs, starts, schedule, lastRun, nowMs: now() }, id)
  // Only then, because it costs a look into the queue.
  return why !== undefined && (await isAsked(job.id ?? '')) ? undefined : why
}
