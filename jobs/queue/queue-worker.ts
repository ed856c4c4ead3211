import { withBackend, type IQueueBackend, type Processor, type WorkerOptions } from 'bullmq'
import type { Timings } from '../timings.ts'
import type { Backend } from './backend.ts'
import { takeOverLeftJobs } from './left-jobs.ts'
import { lockName } from './lock-names.ts'
import { queueNames } from './queue-names.ts'
import type { Counts, Payload } from './queues.ts'
import { renewAfterSetBack } from './renewals.ts'

type QueueOptions = Omit<WorkerOptions, 'connection' | 'autorun' | 'name' | 'telemetry'> & {
  timings: Pick<Timings, 'leftJobsMs' | 'lockMs'>
  /** Unix milliseconds. */
  now: () => number
}

/**
 * A worker of one of our queues. It finds the queue by its backend, takes no job until `run` is called, writes its name into its jobs,
 * takes over those of processes that are gone, and cancels those that it lost.
 */
export function createQueueWorker<Name extends string = string>(
  backend: Backend,
  queue: keyof ReturnType<typeof queueNames>,
  processor: Processor<Payload, Counts, Name>,
  { timings, now, ...options }: QueueOptions,
) {
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const { telemetry } = backend
  const ours = { connection: {}, autorun: false, name: lockName(), ...(telemetry !== undefined && { telemetry }) }
  const worker = new Worker<Payload, Counts, Name>(queueNames(backend)[queue], processor, { ...ours, ...options })
  cancelLostJobs(worker)
  takeOverLeftJobs(worker, backend, timings)
  renewAfterSetBack(worker, now, timings.leftJobsMs)
  return worker
}

type Cancelling = {
  on(event: 'lockRenewalFailed', listener: (jobIds: string[]) => void): unknown
  cancelJob(jobId: string, reason: string): unknown
}

/** Another worker has the job now, or the queue lost it: in both cases its run must not write any more. */
function cancelLostJobs(worker: Cancelling): void {
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const jobId of jobIds) worker.cancelJob(jobId, 'the lock of this job was lost')
  })
}
