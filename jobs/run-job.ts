import { once } from 'node:events'
import { DelayedError, UnrecoverableError } from 'bullmq'
import { cancellable } from './cancel.ts'
import type { Timings } from './timings.ts'
import { within } from '../src/machine/timers.ts'
import { KINDS, type RunKind, type Backend, type SharedValues } from './queue/port.ts'
import { createQueueWorker, handBack, payload, progressOf, putOff, type Queues, type RunJob } from './queue/queues.ts'
import { isDue, wasReadSince } from './schedule/due-runs.ts'
import { betweenNights } from './schedule/due-times.ts'
import type { Organization } from '../src/config/organization.ts'
import { isForGood, type Origin } from '../src/errors/error-facts.ts'
import { describeError, factsOf, refusalIn, UsageError } from '../src/errors/errors.ts'
import { PROGRAM_VERSION } from '../src/machine/version.ts'
import type { LastRun } from '../src/model/mirror.ts'
import type { Mirror } from '../src/store/mirror.ts'
import { pauseOf, type Pauses } from '../src/model/pause.ts'
import { emptyReport, type Trigger } from '../src/model/report.ts'
import type { SourceEvent } from '../src/source/customers.ts'
import type { Wait } from '../src/status/standing.ts'
import type { Outcome } from '../src/sync/mirror-organization.ts'
import { runOrganization, type RunSettings } from '../src/sync/run-organization.ts'
import { backoffMs } from '../src/time/durations.ts'
import { isFarAhead } from '../src/time/moments.ts'

/** The end of a run of a job, the verdict on it, and whether the job ends with it. */
export type RunOfJob = { kind: RunKind; outcome: Outcome; verdict: JobVerdict; isLast: boolean }

/** A job makes no run now. `untilMs`: when its pause ends, in Unix milliseconds, where that is known. */
export type NoRunOfJob = { organization: string; kind: RunKind; why: WhyNone; untilMs?: number | undefined }

export type Listener = {
  onEvent(organization: string, event: SourceEvent): void
  onAnswer(organization: string, answer: { status: number }): void
  onRun(run: RunOfJob): void
  onNoRun(noRun: NoRunOfJob): void
}

export type Processing = Pick<RunSettings, 'rateLimits' | 'sharedTurns' | 'wire' | 'now' | 'monotonicMs' | 'random'> & {
  organizationOf: (id: string) => Organization | undefined
  mirror: Mirror
  queues: Pick<Queues, 'stateOf'>
  values: Pick<SharedValues, 'read'>
  /** Which organizations are paused, as far as this worker knows. */
  pauses: { latest: () => Promise<Pauses> }
  listener: Listener
  /** Ends this worker: a newer version has changed the mirror, and its workers take the jobs. */
  end: (error: unknown) => void
  /** Aborted when this worker stops: current pages are finished and saved, and jobs go back into the queue. */
  stop: AbortSignal
  timings: Timings
}

/** The most starts of a job, including those after waits. */
const MOST_STARTS = 100

/** So often a job is left to other workers: an hour for one of a newer version, five minutes where no worker knows its organization. */
const MOST_LEFT = 20

/** A worker that makes the runs of one kind, at most `concurrency` at the same time. It takes no job until it runs. */
export function startRunWorker(kind: RunKind, backend: Backend, processing: Processing, concurrency: number) {
  const { timings, values } = processing
  const looking = { values, lookMs: timings.cancelLookMs }
  // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
  const work = async (job: RunJob, _token?: string, lost?: AbortSignal) =>
    cancellable(job, looking, (cancelled) => runForJob(kind, job, { lost, cancelled }, processing))
  // Any other error is that of a job which the queue did not let end.
  const backoffStrategy = (attempts: number, _type?: string, error?: Error) =>
    error instanceof RunFailed ? error.delayMs : backoff(attempts, processing)
  return createQueueWorker(backend, kind, work, {
    ...{ concurrency, timings, maxStalledCount: KINDS[kind].mostStalls, maxStartedAttempts: MOST_STARTS },
    settings: { backoffStrategy },
  })
}

/** The job must be retried, after `delayMs`. */
class RunFailed extends Error {
  delayMs = 0
}

function backoff(attempts: number, { timings, random }: Pick<Processing, 'timings' | 'random'>): number {
  return backoffMs(attempts, random(), { firstMs: timings.firstRetryMs, longestMs: timings.longestRetryMs })
}

type Ends = { lost: AbortSignal | undefined; cancelled: AbortSignal }

/** Mirrors the organization of a job, then ends, delays or fails it by the verdict. `lost`: its lock is; `cancelled`: a person cancels it. */
export async function runForJob(kind: RunKind, job: RunJob, { lost, cancelled }: Ends, processing: Processing) {
  const { listener, mirror, stop, timings, now } = processing
  const { organization: id, version } = job.data
  const none = (why: WhyNone, untilMs?: number) => listener.onNoRun({ organization: id, kind, why, untilMs })
  const leave = (why: WhyNone, waitMs: number) => putOff(job, now() + waitMs, () => none(why))
  const isNewer = typeof version === 'string' && version.localeCompare(PROGRAM_VERSION, 'en', { numeric: true }) > 0
  if (isNewer && job.attemptsStarted <= MOST_LEFT)
    await leave('newer-version', timings.leftWaitMs * job.attemptsStarted)
  if (!payload.safeParse(job.data).success)
    throw new UnrecoverableError('This job names no organization. This program did not create it; nothing was done.')

  // A job may be faster than the look at a changed file, and is put off.
  const organization = processing.organizationOf(id)
  const isFull = !KINDS[kind].isPartial
  if (isFull && organization === undefined && job.attemptsStarted <= MOST_LEFT)
    await leave('another-configuration', timings.leftWaitMs)
  const paused = pauseOf(await processing.pauses.latest(), id, now())
  if (paused !== undefined) return none('paused', paused.untilMs)
  // A mirror that cannot be read decides nothing: the run reports that.
  const [lastRun] = await mirror.listLastRuns({ organization: id }).catch(() => [])
  const why = isFull ? whyNotNeeded(job, lastRun, now()) : await whyNoPartialRun(organization, job, lastRun, processing)
  if (why !== undefined) return none(why)
  const decide = (error: unknown, pages: number): JobVerdict =>
    verdictOf(error, {
      ...{ kind, waitedMs: waitedBefore(job, pages), maxWaitMs: organization?.maxWaitMs ?? 0 },
      startsLeft: MOST_STARTS - job.attemptsStarted,
      ...{ stopping: stop.aborted, lockLost: lost?.aborted === true },
      timings,
    })
  const signal = AbortSignal.any([stop, cancelled, ...(lost === undefined ? [] : [lost])])
  const outcome =
    organization === undefined
      ? gone(id, job.name, now())
      : await run(job, organization, processing, {
          ...{ signal, isPartial: KINDS[kind].isPartial },
          comesBack: (error, { pages }) => {
            const verdict = decide(error, pages)
            return isWaiting(error, verdict) && !isLast(verdict, job)
          },
        })
  if (outcome === undefined) return handBack(job)
  const verdict = decide(outcome.error, outcome.report.pages)
  const ended = { kind, outcome, verdict, isLast: isLast(verdict, job) }
  listener.onRun(ended)
  return endJob(job, ended, processing)
}

/** The outcome of a run that never started: the organization left the configuration after its job was made. */
function gone(organization: string, trigger: Trigger, startedAtMs: number): Outcome {
  const error = new UsageError(`${organization}: this worker does not have it configured. No request was sent.`)
  return { report: { ...emptyReport({ organization, trigger, startedAtMs }), error: describeError(error) }, error }
}

async function endJob(job: RunJob, ended: RunOfJob, processing: Processing): Promise<void> {
  const { report, error } = ended.outcome
  const [{ verdict }, { now, end, stop }] = [ended, processing]
  const { from } = factsOf(error)
  if (error !== undefined && from === 'other-version') {
    end(error)
    // A worker that takes jobs would take the one that it puts back.
    if (!stop.aborted) await once(stop, 'abort')
  }
  if (verdict.kind === 'abandon') throw new DelayedError('the lock of this job was lost')
  if (verdict.kind === 'hand-back') return handBack(job)
  // The job of a cancelled run says so, although its run is no failure.
  if (verdict.kind === 'give-up' || from === 'cancel') throw new UnrecoverableError(reasonOf(error))
  if (verdict.kind === 'complete' || verdict.kind === 'drop') return
  const wait = waitAfter(error)
  if (verdict.kind === 'retry') {
    const attempts = job.attemptsMade + 1
    const delayMs = verdict.leastMs + backoff(attempts, processing)
    note(job, { ...wait, attempt: attempts + 1, untilMs: now() + delayMs })
    throw Object.assign(new RunFailed(reasonOf(error)), { delayMs })
  }
  const untilMs = now() + verdict.waitMs
  const waitedMs = waitedBefore(job, report.pages) + verdict.waitMs
  return putOff(job, untilMs, () => job.updateProgress({ wait: { ...wait, untilMs }, waitedMs }))
}

/** maxWait is the longest time without a success: a run that saved pages before its wait starts a new count. */
function waitedBefore(job: RunJob, pages: number): number {
  return pages > 0 ? 0 : progressOf(job).waitedMs
}

function isLast({ kind }: JobVerdict, { attemptsMade, opts }: RunJob): boolean {
  if (kind === 'complete' || kind === 'give-up' || kind === 'drop') return true
  return kind === 'retry' && attemptsMade + 1 >= (opts.attempts ?? 1)
}

/** Notes what a job waits for, only for those who look into the queue. */
function note(job: RunJob, wait: Wait | undefined): void {
  void job.updateProgress({ ...progressOf(job), wait }).catch(() => {})
}

type OfRun = Pick<RunSettings, 'signal' | 'isPartial' | 'comesBack'>

/** Makes the run of a job. After a stop it is waited for only for a limited time, and a page that arrives later is lost: undefined then. */
async function run(job: RunJob, organization: Organization, processing: Processing, asked: OfRun) {
  const { listener, stop, timings } = processing
  const running = runOrganization(organization, {
    ...{ ...processing, ...asked, trigger: job.name, longestWaitMs: timings.longestWaitMs },
    onEvent: (event) => {
      listener.onEvent(organization.id, event)
      const wait = waitOfEvent(event)
      if (wait !== undefined) note(job, wait)
    },
    onAnswer: (answer) => {
      listener.onAnswer(organization.id, answer)
      if (answer.status < 400 && progressOf(job).wait !== undefined) note(job, undefined)
    },
  })
  // A worker makes runs for months, with one signal for all of them.
  const ended = new AbortController()
  const stopped = stop.aborted ? undefined : once(stop, 'abort', ended).catch(() => {})
  await Promise.race([running, stopped]).finally(() => ended.abort())
  return within(running, timings.handBackMs, undefined)
}

/** What a run waits for at the request of its service, or while that is down. */
function waitOfEvent(event: SourceEvent): Wait | undefined {
  if (event.kind !== 'waiting' || event.reason === 'mirror-gone') return undefined
  const { reason, untilMs, status, attempt } = event
  return { why: reason === 'unavailable' ? 'outage' : 'rate-limit', untilMs, status, attempt }
}

/** The reason of a failure for the queue: only our own error messages, because others may quote data. */
function reasonOf(error: unknown): string {
  const { code, message } = describeError(error)
  return code === 'unexpected' ? 'unexpected: see the log of the worker' : `${code}: ${message}`
}

/**
 * Why a job makes no run now. It is left to workers of a `newer-version` or with `another-configuration`. It is not needed: the list was read since
 * it was due, that was refused for good, or an earlier start of the job read it. Its organization is `paused`. And for a partial run: there is no
 * line for one; the organization has the job of a full run, such a run is due or is to be continued; or the last one was refused.
 */
export type WhyNone =
  | ('newer-version' | 'another-configuration' | 'read-since' | 'refused-since' | 'ended-before')
  | ('paused' | 'not-scheduled' | 'full-run' | 'due' | 'unfinished' | 'refused')

type AskedJob = Pick<RunJob, 'name' | 'timestamp' | 'attemptsStarted'> & { data: Pick<RunJob['data'], 'dueMs'> }

/** Why a full run is not needed: another may have ended between the look at the mirror and `timestamp`, when the run was asked for. */
export function whyNotNeeded(job: AskedJob, lastRun: LastRun | undefined, nowMs: number): WhyNone | undefined {
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
  job: { name: string },
  lastRun: LastRun | undefined,
  { queues, now }: Pick<Processing, 'queues' | 'now'>,
): Promise<WhyNone | undefined> {
  if (configured === undefined) return 'not-scheduled'
  const { id: organization, schedule, resumeWithinMs } = configured
  const isWanted = job.name === 'manual'
  if (!isWanted && (schedule && betweenNights(schedule)) === undefined) return 'not-scheduled'
  if ((await queues.stateOf('sync', organization)) !== undefined) return 'full-run'
  const nowMs = now()
  // A full run goes on where it was interrupted, or waits for the service.
  const waits = lastRun?.status === 'interrupted' || lastRun?.status === 'waiting'
  if (waits && Math.abs(nowMs - lastRun.startedAtMs) <= resumeWithinMs) return 'unfinished'
  if (isWanted) return undefined
  if (schedule !== undefined && isDue(organization, schedule, lastRun, nowMs)) return 'due'
  return isForGood(lastRun?.partialErrorCode ?? '') ? 'refused' : undefined
}

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
  timings: Pick<Timings, 'leasedWaitMs' | 'mirrorWaitMs'>
}

/** Decides about a job from the error of its run; undefined for a complete run. */
export function verdictOf(error: unknown, circumstances: Circumstances): JobVerdict {
  const { kind, waitedMs, maxWaitMs, startsLeft, stopping, lockLost, timings } = circumstances
  if (error === undefined) return { kind: 'complete' }
  if (lockLost) return { kind: 'abandon' }
  const { again, from } = factsOf(error)
  if (from === 'stop') return { kind: stopping ? 'hand-back' : 'abandon' }
  if (from === 'other-version') return { kind: 'hand-back' }
  if (KINDS[kind].isPartial) return GIVES_WAY.has(from) ? { kind: 'drop' } : GIVE_UP
  if (again === 'never') return GIVE_UP
  // It took as long as a run may: other jobs may go first, and the wait does not count.
  if (from === 'limit') return startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs: SOON_MS }
  const ownMs: Partial<Record<Origin, number>> = { 'other-run': timings.leasedWaitMs, mirror: timings.mirrorWaitMs }
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

function waitAfter(error: unknown): Wait {
  const { status, waitMs } = refusalIn(error)
  if (waitMs !== undefined) return { why: 'rate-limit', status }
  return { why: factsOf(error).from === 'outage' ? 'outage' : 'retry', status }
}
