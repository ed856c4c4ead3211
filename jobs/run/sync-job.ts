import type { Mirror } from '../../src/store.ts'
import { once } from 'node:events'
import { DelayedError, UnrecoverableError, WaitingError, type Job } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { describeError, factsOf, namedWaitMs, UsageError } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import type { Report, Trigger } from '../../src/report.ts'
import type { OpenSharedTurns, RateLimits } from '../../src/run-organization.ts'
import type { IdleAgents } from '../../src/source/connection/idle-agents.ts'
import type { SourceEvent } from '../../src/source/customers.ts'
import { failedWith } from './failed-with.ts'
import type { CancellableJobs } from './cancellable-jobs.ts'
import type { EndOfQuickRun } from './end-of-quick-run.ts'
import { endingSoon } from './ending-soon.ts'
import { findWhyNotNeeded, type LookingUp, type WhyNotNeeded } from './not-needed.ts'
import { isWaiting, verdictOf, type JobVerdict } from './outcome.ts'
import { progressOf } from '../queue/job-progress.ts'
import { runForJob } from './run-for-job.ts'
import type { PutOff } from '../pauses/put-off.ts'
import type { WhyLeft } from './left-to-others.ts'
import { payload, type Counts, type Payload } from '../queue/queues.ts'
import type { Timings } from '../timings.ts'

export type SyncJob = Job<Payload, Counts, Trigger>

/** A run of a job, the verdict on it, and whether the job ends with it. */
export type RunOfJob = { organization: string; outcome: Outcome; verdict: JobVerdict; isLast: boolean }

/** The callbacks to which a job reports. */
export type Listener = {
  onEvent?(organization: string, event: SourceEvent): void
  onAnswer?(organization: string, answer: { status: number }): void
  onRun?(run: RunOfJob): void
  /** A job ended without a run. */
  onNotNeeded?(organization: string, why: WhyNotNeeded): void
  /** A job waits for another worker. */
  onLeft?(organization: string, why: WhyLeft): void
  onPutOff?(organization: string, putOff: PutOff): void
  onQuickRun?(ended: EndOfQuickRun): void
}

export type Processing = Pick<LookingUp, 'isAsked'> & {
  /** Looks an organization up in the current configuration. */
  organizationOf: (id: string) => Organization | undefined
  /** Reads the configuration again for an organization that is not in it. */
  lookAgain: () => Promise<void>
  mirror: Mirror
  rateLimits: RateLimits
  /** Undefined where no other process shares a rate limit. */
  sharedTurns: OpenSharedTurns | undefined
  /** Connections of finished jobs, to reuse. */
  agents: IdleAgents
  listener: Listener
  /** Ends this worker: a newer version has changed the mirror, and its workers take the jobs. */
  onOutdated: (error: unknown) => void
  /** Waits for the end of a quick run of the organization, if one is under way, but not for long. */
  quickRunEnded(organization: string, signal: AbortSignal): Promise<void>
  /** The jobs of this worker that a person may cancel. */
  cancellable: CancellableJobs
  /** Aborted when this worker stops: current pages are finished and saved, and jobs go back into the queue. */
  stop: AbortSignal
  timings: Timings
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
  random: () => number
}

/**
 * A job is given up when workers without its organization took it so often in a row. Where one worker of two has it, that happens
 * to one job of a million; where none has it, after five minutes.
 */
const MOST_UNKNOWN = 20

/** The most starts of a job, including those after waits. */
export const MOST_STARTS = 100

/** The signals of one job: when its lock is lost, and when its run is to end for another reason, which is that of the signal. */
export type JobSignals = { lost: AbortSignal | undefined; cancelled: AbortSignal }

/** Mirrors the organization of a job, then completes, delays or fails the job by the verdict on the run. */
export async function mirrorForJob(
  job: SyncJob,
  token: string | undefined,
  { lost, cancelled }: JobSignals,
  processing: Processing,
): Promise<Counts> {
  const { stop, listener, timings } = processing
  const signal = AbortSignal.any([stop, cancelled, ...(lost === undefined ? [] : [lost])])
  const { organization: id } = parsePayload(job)
  const organization = await organizationOf(id, processing)
  const { unknownTo = 0, ...progress } = progressOf(job)
  if (organization === undefined && unknownTo < MOST_UNKNOWN) {
    await job.moveToDelayed(processing.now() + timings.leftWaitMs, token)
    await job.updateProgress({ ...progress, unknownTo: unknownTo + 1 })
    listener.onLeft?.(id, 'another-configuration')
    throw new DelayedError()
  }
  const decide: Decide = (error, { pages }) =>
    verdictOf(error, {
      waitedMs: waitedBefore(job, pages),
      maxWaitMs: organization?.maxWaitMs ?? 0,
      startsLeft: MOST_STARTS - job.attemptsStarted,
      stopping: stop.aborted,
      lockLost: lost?.aborted === true,
      leasedWaitMs: timings.leasedWaitMs,
      mirrorWaitMs: timings.mirrorWaitMs,
    })
  const why = await whyNotNeeded(job, organization, processing)
  if (why !== undefined) {
    listener.onNotNeeded?.(id, why)
    return {}
  }
  await processing.quickRunEnded(id, signal)
  const running =
    organization === undefined
      ? unknown(id, job, processing)
      : run(organization, job, signal, { ...processing, decide })
  const outcome = await endingSoon(running, stop, timings.handBackMs)
  if (outcome === undefined) return handBack(job, token)

  const waitedMs = waitedBefore(job, outcome.report.pages)
  const verdict = decide(outcome.error, outcome.report)
  listener.onRun?.({ organization: id, outcome, verdict, isLast: isLast(verdict, job) })
  if (isOutdated(outcome)) await endOutdated(outcome.error, processing)
  if (verdict.kind === 'abandon') throw new DelayedError('the lock of this job was lost')
  if (verdict.kind === 'complete') return countsOf(outcome.report)
  if (verdict.kind === 'hand-back') return handBack(job, token)
  const namedMs = namedWaitMs(outcome.error)
  const namedUntilMs = namedMs && processing.now() + namedMs
  if (verdict.kind === 'wait') {
    // First, because the queue refuses it to a worker that has lost the job, and changes the progress for any.
    await job.moveToDelayed(processing.now() + verdict.waitMs, token)
    await job.updateProgress({ waitedMs: waitedMs + verdict.waitMs, namedUntilMs })
    throw new DelayedError()
  }
  if (verdict.kind === 'retry' && namedMs !== undefined) await job.updateProgress({ waitedMs, namedUntilMs })
  if (verdict.kind === 'give-up') throw new UnrecoverableError(reasonOf(outcome))
  throw new RunFailed(reasonOf(outcome), verdict.kind === 'retry' ? verdict.leastMs : 0)
}

/** The job must be retried, not before `leastMs` from now. */
export class RunFailed extends Error {
  override name = 'RunFailed' as const
  readonly leastMs: number

  constructor(message: string, leastMs: number) {
    super(message)
    this.leastMs = leastMs
  }
}

/** Decides about the job from the error of its run. */
type Decide = (error: unknown, saved: { pages: number }) => JobVerdict

function parsePayload(job: SyncJob): Payload {
  const parsed = payload.safeParse(job.data)
  if (parsed.success) return parsed.data
  throw new UnrecoverableError('This job names no organization. This program did not create it; nothing was done.')
}

function run(
  organization: Organization,
  job: SyncJob,
  signal: AbortSignal,
  processing: Processing & { decide: Decide },
): Promise<Outcome> {
  return runForJob(organization, job, signal, processing, {
    comesBack: (error, saved) => {
      const verdict = processing.decide(error, saved)
      return isWaiting(error, verdict) && !isLast(verdict, job)
    },
  })
}

async function whyNotNeeded(
  job: SyncJob,
  organization: Organization | undefined,
  processing: Processing,
): Promise<WhyNotNeeded | undefined> {
  return organization === undefined ? undefined : findWhyNotNeeded(job, processing)
}

/** An organization of the configuration. A job may be faster than the look at a changed file. */
export async function organizationOf(
  id: string,
  processing: Pick<Processing, 'organizationOf' | 'lookAgain'>,
): Promise<Organization | undefined> {
  const known = processing.organizationOf(id)
  if (known !== undefined) return known
  await processing.lookAgain()
  return processing.organizationOf(id)
}

/** An organization that left the configuration after its job was made. */
async function unknown(id: string, { name }: SyncJob, { now }: Processing): Promise<Outcome> {
  const error = new UsageError(`${id}: is no longer in the configuration. Its rows stay; no request was sent.`)
  return failedWith(id, error, now(), name)
}

/** Ends this worker, and waits until it takes no job: it would take the one that it puts back. */
export async function endOutdated(
  error: unknown,
  { onOutdated, stop }: Pick<Processing, 'onOutdated' | 'stop'>,
): Promise<void> {
  onOutdated(error)
  if (!stop.aborted) await once(stop, 'abort')
}

/** Back to the head of the queue, as if it had not been started. */
export async function handBack(job: SyncJob, token: string | undefined): Promise<never> {
  await job.moveToWait(token)
  throw new WaitingError()
}

/** maxWait is the longest time without a success: a run that saved pages before its wait starts a new count. */
function waitedBefore(job: SyncJob, pages: number): number {
  return pages > 0 ? 0 : progressOf(job).waitedMs
}

function isLast({ kind }: JobVerdict, { attemptsMade, opts }: SyncJob): boolean {
  if (kind === 'complete' || kind === 'give-up') return true
  return kind === 'retry' && attemptsMade + 1 >= (opts.attempts ?? 1)
}

/** Whether a newer version has changed the mirror, so that this one can make no run. */
export function isOutdated({ error }: Outcome): boolean {
  return error !== undefined && factsOf(error).from === 'other-version'
}

export function countsOf(report: Report): Counts {
  const { requests, pages, received, inserted, updated, unchanged, duplicates, rejected, suppressed } = report
  const { missing, removed, returned, held, throttled, waitedMs, durationMs } = report
  return {
    ...{ requests, pages, received, inserted, updated, unchanged, duplicates, rejected, suppressed },
    ...{ missing, removed, returned, held, throttled, waitedMs, durationMs },
  }
}

/** The reason of a failure for the queue: only our own error messages, because others may quote data. */
export function reasonOf({ error }: Outcome): string {
  const { code, message } = describeError(error)
  return code === 'unexpected' ? 'unexpected: see the log of the worker' : `${code}: ${message}`
}
