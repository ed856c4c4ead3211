import { sleep } from '../../src/machine/timers.ts'
import type { Trigger } from '../../src/report.ts'
import type { Backend } from '../queue/backend.ts'
import { jobStateOf, type Queues } from '../queue/queues.ts'
import { createQueueWorker } from '../queue/queue-worker.ts'
import type { Timings } from '../timings.ts'
import type { PauseWatch } from '../pauses/pause-watch.ts'
import { unlessForOthers, type Leaving } from './left-to-others.ts'
import { quickUnlessPaused } from '../pauses/put-off.ts'
import { quickRunForJob, type QuickProcessing } from './quick-job.ts'

/** Quick runs made at the same time by one worker, beside its full runs. */
const AT_ONCE = 4

export type QuickWorker = ReturnType<typeof startQuickWorker>

/** Starts taking quick jobs. */
export function startQuickWorker(
  backend: Backend,
  processing: QuickProcessing & Leaving & { pauses: Pick<PauseWatch, 'latest'> },
) {
  const { timings } = processing
  return createQueueWorker<Trigger>(
    backend,
    'quick',
    // All three parameters are declared: BullMQ passes no signal to a processor with fewer.
    async (job, token, lost) =>
      unlessForOthers(job, token, processing, () =>
        processing.cancellable.during(job, (cancelled) =>
          quickUnlessPaused(job, processing, () => quickRunForJob(job, { lost, cancelled }, processing)),
        ),
      ),
    {
      concurrency: AT_ONCE,
      lockDuration: timings.lockMs,
      stalledInterval: timings.stalledMs,
      // The job of a dead worker is not taken over: the next due time makes a new one.
      maxStalledCount: 0,
    },
  )
}

export type AwaitingQuickRun = {
  queue: Pick<Queues['quick'], 'getDeduplicationJobId' | 'getJobState'>
  timings: Pick<Timings, 'quickLookMs' | 'leasedWaitMs'>
  monotonicMs: () => number
}

/**
 * Waits while a quick run of the organization is under way. It sees the job of the full run and stops after its current pages; a
 * quick run that does not is left to the lease of the organization. A queue that does not answer delays nothing.
 */
export async function quickRunEnded(
  { queue, timings, monotonicMs }: AwaitingQuickRun,
  organization: string,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = monotonicMs() + timings.leasedWaitMs
  while (!signal.aborted && monotonicMs() < untilMs) {
    const state = await jobStateOf(queue, organization).catch(() => undefined)
    if (state !== 'active') return
    await sleep(timings.quickLookMs, signal).catch(() => {})
  }
}
