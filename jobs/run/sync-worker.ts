import type { JobSettings } from '../../src/config/schema.ts'
import type { Trigger } from '../../src/report.ts'
import type { Backend } from '../queue/backend.ts'
import type { PauseWatch } from '../pauses/pause-watch.ts'
import { unlessForOthers, type Leaving } from './left-to-others.ts'
import { unlessPaused } from '../pauses/put-off.ts'
import { mirrorForJob, MOST_STARTS, RunFailed, type Processing } from './sync-job.ts'
import { backoffMs } from '../../src/time/backoff.ts'
import { progressOf } from '../queue/job-progress.ts'
import { createQueueWorker } from '../queue/queue-worker.ts'

/** Another worker takes over the job of a dead one; a job is given up after its workers died this often. */
const MOST_STALLS = 3

export type SyncWorker = ReturnType<typeof startSyncWorker>

/** Starts taking sync jobs, at most `concurrency` at the same time. */
export function startSyncWorker(
  backend: Backend,
  processing: Processing & Leaving & { pauses: Pick<PauseWatch, 'latest'> },
  { concurrency }: JobSettings,
) {
  const { timings, now, random, cancellable } = processing
  return createQueueWorker<Trigger>(
    backend,
    'sync',
    // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
    async (job, token, lost) =>
      unlessForOthers(job, token, processing, () =>
        cancellable.during(job, (cancelled) =>
          unlessPaused(job, token, processing, () => mirrorForJob(job, token, { lost, cancelled }, processing)),
        ),
      ),
    {
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
          // Only for those who look into the queue; any other error is that of a job which the queue did not let end.
          const retryAtMs = now() + delayMs
          if (error instanceof RunFailed) await job?.updateProgress({ ...progressOf(job), retryAtMs }).catch(() => {})
          return delayMs
        },
      },
    },
  )
}
