import type { Job } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { isForGood, type Origin } from '../../src/errors/error-facts.ts'
import { factsOf, refusalIn } from '../../src/errors/errors.ts'
import { PROGRAM_VERSION } from '../../src/machine/version.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import type { Trigger } from '../../src/model/report.ts'
import type { Wait } from '../../src/status/standing.ts'
import { isFarAhead } from '../../src/time/moments.ts'
import { KINDS, type RunKind } from '../queue/port.ts'
import { jobStateOf, type Payload, type Queues } from '../queue/queues.ts'
import { isDue, wasReadSince } from '../schedule/due-runs.ts'
import { betweenNights } from '../schedule/due-times.ts'

/**
 * Why a job makes no run now. It is left to other workers: `newer-version` asked for it, or its organization is in `another-configuration`. It
 * is not needed: the list was read since it was due, that failed for good, or an earlier start of the job read it. Its organization is
 * `paused`. And for a partial run: there is no line for one; the organization has the job of a full run, such a run is due, or is to be
 * continued; or the last one was refused.
 */
export type WhyNone =
  | ('newer-version' | 'another-configuration' | 'read-since' | 'refused-since' | 'ended-before')
  | ('paused' | 'not-scheduled' | 'full-run' | 'due' | 'unfinished' | 'refused')

/** Whether a newer version of the program made the job. */
export function isNewer({ version: other }: Pick<Payload, 'version'>): boolean {
  return typeof other === 'string' && other.localeCompare(PROGRAM_VERSION, 'en', { numeric: true }) > 0
}

/**
 * Why the full run of a job is not needed: several workers ask for the same run, and it may have ended between look and request. Its `timestamp`
 * says when the run was asked for: a catch-up knows of no run that has ended since then.
 */
export function whyNotNeeded(
  job: Pick<Job<unknown, void, Trigger>, 'name' | 'timestamp' | 'attemptsStarted'> & { data: Pick<Payload, 'dueMs'> },
  lastRun: LastRun | undefined,
  nowMs: number,
): WhyNone | undefined {
  const { name, timestamp: askedAtMs, attemptsStarted, data } = job
  const { dueMs } = data
  // The worker of an earlier start ended after its run and before its job.
  if (attemptsStarted > 1 && lastRun?.status === 'complete' && lastRun.startedAtMs >= askedAtMs) return 'ended-before'
  if (dueMs === undefined) return undefined
  if (wasReadSince(dueMs, lastRun, nowMs)) return 'read-since'
  if (lastRun?.status !== 'failed' || !isForGood(lastRun.errorCode ?? '')) return undefined
  // A worker that starts tries once again what failed before, but not what failed since.
  const [failedAtMs, sinceMs] = name === 'schedule' ? [lastRun.startedAtMs, dueMs] : [lastRun.endedAtMs ?? 0, askedAtMs]
  return failedAtMs >= sinceMs && !isFarAhead(failedAtMs, nowMs) ? 'refused-since' : undefined
}

/** Why no partial run is to be made now; undefined if one is. A person gets one although a full run is due, or the last one was refused. */
export async function whyNoPartialRun(
  configured: Pick<Organization, 'id' | 'schedule' | 'resumeWithinMs'> | undefined,
  { name: trigger }: { name: string },
  lastRun: LastRun | undefined,
  { queues, now }: { queues: Pick<Queues, 'sync'>; now: () => number },
): Promise<WhyNone | undefined> {
  if (configured === undefined) return 'not-scheduled'
  const { id: organization, schedule, resumeWithinMs } = configured
  const isWanted = trigger === 'manual'
  if (!isWanted && (schedule && betweenNights(schedule)) === undefined) return 'not-scheduled'
  if ((await jobStateOf(queues.sync, organization)) !== undefined) return 'full-run'
  const nowMs = now()
  // A full run goes on where it was interrupted, or waits for the service.
  const waits = lastRun?.status === 'interrupted' || lastRun?.status === 'waiting'
  if (waits && Math.abs(nowMs - lastRun.startedAtMs) <= resumeWithinMs) return 'unfinished'
  if (isWanted) return undefined
  if (schedule !== undefined && isDue(organization, schedule, lastRun, nowMs)) return 'due'
  return isForGood(lastRun?.partialErrorCode ?? '') ? 'refused' : undefined
}

/** The decision about a job after its run. */
export type JobVerdict =
  | { kind: 'complete' }
  /** Continue after `waitMs`. Uses no attempt. */
  | { kind: 'wait'; waitMs: number }
  /** Retry, not before `leastMs`, until the attempts are used up. */
  | { kind: 'retry'; leastMs: number }
  /** A retry would end the same way: a person has to act, or the next night has to come. */
  | { kind: 'give-up' }
  /** The partial run gave way to another run, to its limit or to a person: no failure, and the next one comes soon. */
  | { kind: 'drop' }
  /** Back into the queue, for the worker that starts after this one, or for one of a newer version. Uses no attempt. */
  | { kind: 'hand-back' }
  /** Another worker has the job now. */
  | { kind: 'abandon' }

export type Circumstances = {
  kind: RunKind
  /** How long this job has waited in the queue so far, at the service's request, and how long it may in total. */
  waitedMs: number
  maxWaitMs: number
  startsLeft: number
  stopping: boolean
  lockLost: boolean
  leasedWaitMs: number
  mirrorWaitMs: number
}

/** Decides about a job from the error of its run; undefined for a complete run. */
export function verdictOf(error: unknown, circumstances: Circumstances): JobVerdict {
  const { kind, waitedMs, maxWaitMs, startsLeft, stopping, lockLost, leasedWaitMs, mirrorWaitMs } = circumstances
  if (error === undefined) return { kind: 'complete' }
  if (lockLost) return { kind: 'abandon' }
  const { again, from } = factsOf(error)
  if (from === 'stop') return { kind: stopping ? 'hand-back' : 'abandon' }
  if (from === 'other-version') return { kind: 'hand-back' }
  if (KINDS[kind].isPartial) return GIVES_WAY.has(from) ? { kind: 'drop' } : GIVE_UP
  if (again === 'never') return GIVE_UP
  // It took as long as a run may: other jobs may go first, and the wait does not count.
  if (from === 'limit') return startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs: SOON_MS }
  const ownMs: Partial<Record<Origin, number>> = { 'other-run': leasedWaitMs, mirror: mirrorWaitMs }
  const leastMs = refusalIn(error).waitMs ?? ownMs[from]
  if (again === 'retry') return { kind: 'retry', leastMs: leastMs ?? 0 }
  const waitMs = leastMs ?? UNNAMED_WAIT_MS
  return waitedMs + waitMs > maxWaitMs || startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs }
}

const GIVES_WAY: ReadonlySet<Origin> = new Set(['other-run', 'limit', 'cancel'])
const GIVE_UP: JobVerdict = { kind: 'give-up' }
const UNNAMED_WAIT_MS = 60_000
const SOON_MS = 1000

/** Whether a run is `waiting`: the service named a time or asked to slow down, and its job continues by itself. */
export function isWaiting(error: unknown, verdict: JobVerdict): boolean {
  const comesBack = verdict.kind === 'wait' || (verdict.kind === 'retry' && verdict.leastMs > 0)
  return comesBack && factsOf(error).from === 'outage'
}

/** What the job of a run waits for that ended with this error. */
export function waitAfter(error: unknown): Wait {
  const { status, waitMs } = refusalIn(error)
  if (waitMs !== undefined) return { why: 'rate-limit', status }
  return { why: factsOf(error).from === 'outage' ? 'outage' : 'retry', status }
}
