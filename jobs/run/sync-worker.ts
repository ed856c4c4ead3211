import type { JobSettings } from '../../src/config/settings/jobs.ts'
import type { Trigger } from '../../src/report.ts'
import type { Backend } from '../queue/backend.ts'
import { delayWhileUnknown } from '../configuration/delay-while-unknown.ts'
import { whenAllowed, type Allowing } from '../pauses/when-allowed.ts'
import { mirrorForJob, MOST_STARTS, RunFailed, type Processing } from './sync-job.ts'
import { backoffMs } from '../../src/time/backoff.ts'
import { progressOf } from '../queue/job-progress.ts'
import { createQueueWorker } from '../queue/queue-worker.ts'

/** Another worker takes over the job of a dead one; a job is given up after its workers died this often. */
const MOST_STALLS = 3
/** How often the job of an organization that the accepted configuration lacks is looked at: with the waits between, for four minutes. */
const MOST_IF_GONE = 5

export type SyncWorker = ReturnType<typeof startSyncWorker>

/** Starts taking sync jobs, at most `concurrency` at the same time. */
export function startSyncWorker(backend: Backend, processing: Processing & Allowing, { concurrency }: JobSettings) {
  const { timings, now, random, cancellable } = processing
  return createQueueWorker<Trigger>(
    backend,
    'sync',
    // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
    async (job, token, lost) => {
      await delayWhileUnknown(job, token, { ...processing, mostStarts: MOST_STARTS, mostStartsIfGone: MOST_IF_GONE })
      return cancellable.during(job, (cancelled) =>
        whenAllowed(job, token, processing, (closed) =>
          mirrorForJob(job, token, { lost, cancelled: AbortSignal.any([cancelled, closed]) }, processing),
        ),
      )
    },
    {
      timings,
      now,
      concurrency,
      lockDuration: timings.lockMs,
      stalledInterval: timings.stalledMs,
      maxStalledCount: MOST_STALLS,
      maxStartedAttempts: MOST_STARTS,
      settings: {
        backoffStrategy: async (attempts, _type, error, job) => {
          const { firstRetryMs: firstMs, longestRetryMs: longestMs } = timings
          const leastMs = error instanceof RunFailed ? error.leastMs : 0
          const delayMs = leastMs + backoffMs(attempts, random(), { firstMs, longestMs })
          // Only for those who look into the queue.
          const retryAtMs = now() + delayMs
          await job?.updateProgress({ ...progressOf(job), retryAtMs }).catch(() => {})
          return delayMs
        },
      },
    },
  )
}
