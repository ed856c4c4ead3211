import { DelayedError, UnrecoverableError } from 'bullmq'
import type { Origin } from '../../src/errors/error-facts.ts'
import { UsageError, factsOf, namedWaitMs } from '../../src/errors/errors.ts'
import { sleep } from '../../src/machine/timers.ts'
import { statusOf } from '../../src/source/retry.ts'
import type { Wait } from '../../src/status/standing.ts'
import type { Trigger } from '../../src/model/report.ts'
import { backoffMs } from '../../src/time/durations.ts'
import { type Backend, progressOf } from '../queue/port.ts'
import { type Counts, type Payload, type Queues, createQueueWorker, jobStateOf } from '../queue/queues.ts'
import {
  type JobSignals,
  type JobVerdict,
  type Processing,
  type SyncJob,
  countsOf,
  delayUntil,
  endOutdated,
  failedWith,
  handBack,
  isOutdated,
  organizationOf,
  parsePayload,
  reasonOf,
  runForJob,
} from './run-for-job.ts'
import { findWhyNotNeeded, leaveToOthers, putOffWhilePaused } from './why-no-run.ts'

/** Another worker takes over the job of a dead one; a job is given up after its workers died this often. */
const MOST_STALLS = 3

/** The most starts of a job, including those after waits. */
const MOST_STARTS = 100

/**
 * A job is given up when workers without its organization took it so often in a row. Where one worker of two has it, that happens
 * to one job of a million; where none has it, after five minutes.
 */
const MOST_UNKNOWN = 20

/** A worker that makes full runs, at most `concurrency` at the same time. It takes no job until it runs. */
export function startSyncWorker(backend: Backend, processing: Processing, { concurrency }: { concurrency: number }) {
  const { timings, now, random, cancellable } = processing
  return createQueueWorker<Payload, Trigger>(
    backend,
    'sync',
    // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
    async (job, token, lost) => {
      await leaveToOthers(job, token, processing)
      return cancellable.during(job, async (cancelled) => {
        await putOffWhilePaused(job, token, processing)
        return mirrorForJob(job, token, { lost, cancelled }, processing)
      })
    },
    {
      concurrency,
      timings,
      maxStalledCount: MOST_STALLS,
      maxStartedAttempts: MOST_STARTS,
      settings: {
        backoffStrategy: async (attempts, _type, error, job) => {
          const { firstRetryMs: firstMs, longestRetryMs: longestMs } = timings
          const backoff = backoffMs(attempts, random(), { firstMs, longestMs })
          // Any other error is that of a job which the queue did not let end.
          if (!(error instanceof RunFailed)) return backoff
          const delayMs = error.leastMs + backoff
          const wait = { ...error.wait, attempt: attempts + 1, untilMs: now() + delayMs }
          // Only for those who look into the queue.
          if (job) await job.updateProgress({ ...progressOf(job), unknownTo: 0, wait }).catch(() => {})
          return delayMs
        },
      },
    },
  )
}

/** The job must be retried, not before `leastMs` from now. */
class RunFailed extends Error {
  override name = 'RunFailed' as const
  readonly leastMs: number
  readonly wait: Wait

  constructor(message: string, leastMs: number, wait: Wait) {
    super(message)
    this.leastMs = leastMs
    this.wait = wait
  }
}

/** Mirrors the organization of a job, then completes, delays or fails the job by the verdict on the run. */
async function mirrorForJob(
  job: SyncJob,
  token: string | undefined,
  { lost, cancelled }: JobSignals,
  processing: Processing,
): Promise<Counts> {
  const { stop, listener, timings, now } = processing
  const signal = AbortSignal.any([stop, cancelled, ...(lost === undefined ? [] : [lost])])
  const { organization: id } = parsePayload(job)
  const organization = await organizationOf(id, processing)
  const { unknownTo = 0 } = progressOf(job)
  if (organization === undefined && unknownTo < MOST_UNKNOWN) {
    return delayUntil(job, token, now() + timings.leftWaitMs, {
      changes: { unknownTo: unknownTo + 1 },
      report: () => listener.onNoRun?.(id, 'another-configuration'),
    })
  }
  const decide = (error: unknown, { pages }: { pages: number }): JobVerdict =>
    verdictOf(error, {
      waitedMs: waitedBefore(job, pages),
      maxWaitMs: organization?.maxWaitMs ?? 0,
      startsLeft: MOST_STARTS - job.attemptsStarted,
      stopping: stop.aborted,
      lockLost: lost?.aborted === true,
      leasedWaitMs: timings.leasedWaitMs,
      mirrorWaitMs: timings.mirrorWaitMs,
    })
  const why = organization && (await findWhyNotNeeded(job, processing))
  if (why !== undefined) {
    listener.onNoRun?.(id, why)
    return {}
  }
  await quickRunEnded(id, signal, processing)
  const outcome =
    organization === undefined
      ? failedWith(id, new UsageError(`${id}: ${GONE}`), now(), job.name)
      : await runForJob(organization, job, signal, processing, {
          comesBack: (error, saved) => {
            const verdict = decide(error, saved)
            return isWaiting(error, verdict) && !isLast(verdict, job)
          },
        })
  if (outcome === undefined) return handBack(job, token)

  const waitedMs = waitedBefore(job, outcome.report.pages)
  const verdict = decide(outcome.error, outcome.report)
  listener.onRun?.({ organization: id, outcome, verdict, isLast: isLast(verdict, job) })
  if (isOutdated(outcome)) await endOutdated(outcome.error, processing)
  if (verdict.kind === 'abandon') throw new DelayedError('the lock of this job was lost')
  if (verdict.kind === 'complete') return countsOf(outcome.report)
  if (verdict.kind === 'hand-back') return handBack(job, token)
  if (verdict.kind === 'give-up') throw new UnrecoverableError(reasonOf(outcome))
  const wait = waitAfter(outcome.error)
  if (verdict.kind === 'retry') throw new RunFailed(reasonOf(outcome), verdict.leastMs, wait)
  const untilMs = now() + verdict.waitMs
  const changes = { unknownTo: undefined, wait: { ...wait, untilMs }, waitedMs: waitedMs + verdict.waitMs }
  return delayUntil(job, token, untilMs, { changes })
}

/** What the job of a run waits for that ended with this error. */
function waitAfter(error: unknown): Wait {
  const status = statusOf(error)
  if (namedWaitMs(error) !== undefined) return { why: 'rate-limit', status }
  return { why: factsOf(error).from === 'outage' ? 'outage' : 'retry', status }
}

/** The organization left the configuration after its job was made. */
const GONE = 'is no longer in the configuration. Its rows stay; no request was sent.'

/** maxWait is the longest time without a success: a run that saved pages before its wait starts a new count. */
function waitedBefore(job: SyncJob, pages: number): number {
  return pages > 0 ? 0 : progressOf(job).waitedMs
}

function isLast({ kind }: JobVerdict, { attemptsMade, opts }: SyncJob): boolean {
  if (kind === 'complete' || kind === 'give-up') return true
  return kind === 'retry' && attemptsMade + 1 >= (opts.attempts ?? 1)
}

/**
 * Waits while a quick run of the organization is under way. It sees the job of the full run and stops after its current pages; a
 * quick run that does not is left to the lease of the organization. A queue that does not answer delays nothing.
 */
export async function quickRunEnded(
  organization: string,
  signal: AbortSignal,
  { queues, timings, monotonicMs }: Pick<Processing, 'timings' | 'monotonicMs'> & { queues: Pick<Queues, 'quick'> },
): Promise<void> {
  const untilMs = monotonicMs() + timings.leasedWaitMs
  while (!signal.aborted && monotonicMs() < untilMs) {
    const state = await jobStateOf(queues.quick, organization).catch(() => undefined)
    if (state !== 'active') return
    await sleep(timings.quickLookMs, signal).catch(() => {})
  }
}

export type Circumstances = {
  /** How long this job has waited in the queue so far, at the service's request. */
  waitedMs: number
  /** How long it may wait in total. */
  maxWaitMs: number
  /** How often it may be started again. */
  startsLeft: number
  /** Whether this worker is stopping. */
  stopping: boolean
  /** Whether the lock of the job was lost. */
  lockLost: boolean
  /** How long to wait for an organization that another run holds. */
  leasedWaitMs: number
  /** How long to wait for a mirror that is locked, or whose disk is full. */
  mirrorWaitMs: number
}

/** Decides about a job from the error of its run; undefined for a complete run. */
export function verdictOf(error: unknown, circumstances: Circumstances): JobVerdict {
  if (error === undefined) return { kind: 'complete' }
  if (circumstances.lockLost) return { kind: 'abandon' }
  const { again, from } = factsOf(error)
  if (from === 'stop') return { kind: circumstances.stopping ? 'hand-back' : 'abandon' }
  if (from === 'other-version') return { kind: 'hand-back' }
  if (again === 'never') return GIVE_UP
  // It took as long as a run may: other jobs may go first, and the wait does not count.
  if (from === 'limit') return circumstances.startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs: SOON_MS }
  const leastMs = namedWaitMs(error) ?? leastMsAfter(from, circumstances)
  return again === 'wait'
    ? waitFor(leastMs ?? UNNAMED_WAIT_MS, circumstances)
    : { kind: 'retry', leastMs: leastMs ?? 0 }
}

/** Whether a run is `waiting`: the service named a time or asked to slow down, and its job continues by itself. */
export function isWaiting(error: unknown, verdict: JobVerdict): boolean {
  const comesBack = verdict.kind === 'wait' || (verdict.kind === 'retry' && verdict.leastMs > 0)
  return comesBack && factsOf(error).from === 'outage'
}

function leastMsAfter(from: Origin, { leasedWaitMs, mirrorWaitMs }: Circumstances): number | undefined {
  if (from === 'other-run') return leasedWaitMs
  return from === 'mirror' ? mirrorWaitMs : undefined
}

function waitFor(waitMs: number, { waitedMs, maxWaitMs, startsLeft }: Circumstances): JobVerdict {
  return waitedMs + waitMs > maxWaitMs || startsLeft < 1 ? GIVE_UP : { kind: 'wait', waitMs }
}

const GIVE_UP: JobVerdict = { kind: 'give-up' }
const UNNAMED_WAIT_MS = 60_000
const SOON_MS = 1000
