import { once } from 'node:events'
import { DelayedError, UnrecoverableError, WaitingError, type Job } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { describeError, factsOf } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { emptyReport, type Report, type Trigger } from '../../src/model/report.ts'
import {
  runOrganization,
  type OpenSharedTurns,
  type RateLimits,
  type RunSettings,
} from '../../src/sync/run-organization.ts'
import type { SourceEvent } from '../../src/source/customers.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import type { PauseWatch } from '../pauses.ts'
import type { Wait } from '../../src/status/standing.ts'
import { within } from '../queue/deadline.ts'
import { progressOf } from '../queue/port.ts'
import { payload, type Counts, type Payload, type Queues } from '../queue/queues.ts'
import type { Timings } from '../timings.ts'
import type { CancellableJobs } from './cancellations.ts'

export type SyncJob = Job<Payload, Counts, Trigger>

/** The decision about a job after its run. */
export type JobVerdict =
  | { kind: 'complete' }
  /** Continue after `waitMs`. Uses no attempt. */
  | { kind: 'wait'; waitMs: number }
  /** Retry, not before `leastMs`, until the attempts are used up. */
  | { kind: 'retry'; leastMs: number }
  /** A retry would end the same way: a person has to act, or the next night has to come. */
  | { kind: 'give-up' }
  /** Back into the queue, for the worker that starts after this one, or for one of a newer version. Uses no attempt. */
  | { kind: 'hand-back' }
  /** Another worker has the job now. */
  | { kind: 'abandon' }

/**
 * Why a job is left to other workers: a newer version of the program asked for it, or its organization is not in the configuration of this
 * worker; why it ends without a run: the list was read since it was due, that failed for good, or an earlier start of the job read it; or that
 * it waits for the end of a pause.
 */
export type WhyNotNow = 'newer-version' | 'another-configuration' | WhyNotNeeded | 'paused'
export type WhyNotNeeded = 'read-since' | 'refused-since' | 'ended-before'

/**
 * Why a quick run is not made. `full-run`: the organization has a job that reads the whole list. `due`: such a run is due.
 * `unfinished`: one was interrupted, and is continued. `refused`: the last quick run failed so that another one would too.
 * `leased`: a run outside this queue has the organization. `paused`: a person paused it.
 */
export type WhyNone = 'not-scheduled' | 'full-run' | 'due' | 'unfinished' | 'refused' | 'leased' | 'paused'

/** A run of a job, the verdict on it, and whether the job ends with it. */
export type RunOfJob = { organization: string; outcome: Outcome; verdict: JobVerdict; isLast: boolean }

/** The end of a quick job. `stopped`: it gave way to a full run, or to the stop of its worker, or a person cancelled it. */
export type EndOfQuickRun = { organization: string } & (
  | { end: 'skipped'; why: WhyNone }
  | { end: 'partial' | 'stopped' | 'failed'; outcome: Outcome }
)

/** The callbacks to which a job reports. */
export type Listener = {
  onEvent?(organization: string, event: SourceEvent): void
  onAnswer?(organization: string, answer: { status: number }): void
  onRun?(run: RunOfJob): void
  /** A job makes no run now. `untilMs`: when its pause ends, in Unix milliseconds, where that is known. */
  onNoRun?(organization: string, why: WhyNotNow, untilMs?: number): void
  onQuickRun?(ended: EndOfQuickRun): void
}

/** What the jobs of a worker have in common. */
export type Processing = {
  /** Looks an organization up in the current configuration. */
  organizationOf: (id: string) => Organization | undefined
  /** Reads the configuration again for an organization that is not in it. */
  lookAgain: () => Promise<void>
  mirror: Mirror
  queues: Pick<Queues, 'sync' | 'quick'>
  pauses: Pick<PauseWatch, 'latest'>
  rateLimits: RateLimits
  /** Undefined where no other process shares a rate limit. */
  sharedTurns: OpenSharedTurns | undefined
  listener: Listener
  /** Ends this worker: a newer version has changed the mirror, and its workers take the jobs. */
  onOutdated: (error: unknown) => void
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

/** The signals of one job: when its lock is lost, and when a person cancels it. */
export type JobSignals = { lost: AbortSignal | undefined; cancelled: AbortSignal }

export function parsePayload(job: SyncJob): Payload {
  const parsed = payload.safeParse(job.data)
  if (parsed.success) return parsed.data
  throw new UnrecoverableError('This job names no organization. This program did not create it; nothing was done.')
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

/**
 * Makes the run of a job, with what the runs of a worker have in common and the `own` settings of this one. After a stop it is waited for
 * only for a limited time, and a page that arrives later is lost: undefined then.
 */
export async function runForJob(
  organization: Organization,
  job: SyncJob,
  signal: AbortSignal,
  processing: Processing,
  own: Pick<RunSettings, 'quick' | 'comesBack'>,
): Promise<Outcome | undefined> {
  const { mirror, rateLimits, sharedTurns, listener, timings, now, monotonicMs, random, stop } = processing
  // Only for those who look into the queue.
  const note = (wait: Wait | undefined) => void job.updateProgress({ ...progressOf(job), wait }).catch(() => {})
  const running = runOrganization(organization, {
    ...{ mirror, rateLimits, sharedTurns, now, monotonicMs, random },
    trigger: job.name,
    longestWaitMs: timings.longestWaitMs,
    signal,
    onEvent: (event) => {
      listener.onEvent?.(organization.id, event)
      const wait = waitOfEvent(event)
      if (wait !== undefined) note(wait)
    },
    onAnswer: (answer) => {
      listener.onAnswer?.(organization.id, answer)
      if (answer.status < 400 && progressOf(job).wait !== undefined) note(undefined)
    },
    ...own,
  })
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>()
  const onStop = () => resolve(undefined)
  if (stop.aborted) onStop()
  stop.addEventListener('abort', onStop, { once: true })
  // A worker makes runs for months, with one signal for all of them.
  const first = await Promise.race([running, stopped]).finally(() => stop.removeEventListener('abort', onStop))
  return first ?? within(running, timings.handBackMs, undefined)
}

/** What a run waits for at the request of its service, or while that is down. */
function waitOfEvent(event: SourceEvent): Wait | undefined {
  if (event.kind !== 'waiting' || event.reason === 'mirror-gone') return undefined
  const { reason, untilMs, status, attempt } = event
  return { why: reason === 'unavailable' ? 'outage' : 'rate-limit', untilMs, status, attempt }
}

/** The outcome of a run that never started, with its error. */
export function failedWith(organization: string, error: unknown, nowMs: number, trigger: Trigger = 'sync'): Outcome {
  const report = emptyReport({ organization, trigger, startedAtMs: nowMs })
  return { report: { ...report, error: describeError(error) }, error }
}

/** Whether a newer version has changed the mirror, so that this one can make no run. */
export function isOutdated({ error }: Outcome): boolean {
  return error !== undefined && factsOf(error).from === 'other-version'
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

/** Delays the job without using one of its attempts, notes `changes` at it, and then reports that. */
export async function delayUntil(
  job: SyncJob,
  token: string | undefined,
  untilMs: number,
  { changes, report = () => {} }: { changes?: Partial<ReturnType<typeof progressOf>>; report?: () => void } = {},
): Promise<never> {
  // First, because the queue refuses it to a worker that has lost the job, and changes the progress for any.
  await job.moveToDelayed(untilMs, token)
  if (changes !== undefined) await job.updateProgress({ ...progressOf(job), ...changes })
  report()
  throw new DelayedError()
}

/** The numbers of a run, and its own, for the queue. */
export function countsOf(report: Report): Counts {
  const { requests, pages, received, inserted, updated, unchanged, duplicates, rejected, suppressed } = report
  const { missing, removed, returned, held, throttled, waitedMs, durationMs, runId = 0 } = report
  return {
    ...{ requests, pages, received, inserted, updated, unchanged, duplicates, rejected, suppressed },
    ...{ missing, removed, returned, held, throttled, waitedMs, durationMs, runId },
  }
}

/** The reason of a failure for the queue: only our own error messages, because others may quote data. */
export function reasonOf({ error }: Outcome): string {
  const { code, message } = describeError(error)
  return code === 'unexpected' ? 'unexpected: see the log of the worker' : `${code}: ${message}`
}
