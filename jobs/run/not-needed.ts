import { isForGood } from '../../src/errors/error-facts.ts'
import type { Trigger } from '../../src/report.ts'
import type { LastRun, Mirror } from '../../src/store.ts'
import { isFarAhead } from '../../src/time/clock-tolerance.ts'
import type { Payload } from '../queue/queues.ts'
import { wasReadSince } from '../schedule/missed-runs.ts'

/** Why a job ends without a run: the list was read since it was due, that failed for good, or an earlier start of the job read it. */
export type WhyNotNeeded = 'read-since' | 'refused-since' | 'ended-before'

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

type Asked = {
  name: Trigger
  id?: string | undefined
  data: Payload
  timestamp: number
  attemptsStarted: number
}

export type LookingUp = {
  mirror: Pick<Mirror, 'listLastRuns'>
  /** Whether a person asked for the run of the job too. */
  isAsked: (job: { id: string; organization: string }) => Promise<boolean>
  now: () => number
}

/** Looks up why the run of a job that starts is not needed. A mirror that cannot be read decides nothing: the run reports that. */
export async function findWhyNotNeeded(
  { id = '', name: trigger, data: { organization, dueMs }, timestamp: askedAtMs, attemptsStarted: starts }: Asked,
  { mirror, isAsked, now }: LookingUp,
): Promise<WhyNotNeeded | undefined> {
  const [lastRun] = await mirror.listLastRuns({ organization }).catch(() => [])
  const why = whyNotNeeded({ trigger, askedAtMs, dueMs, starts, lastRun, nowMs: now() })
  // Only then, because it costs a look into the queue.
  return why !== undefined && (await isAsked({ id, organization })) ? undefined : why
}
