import { withBackend, type IQueueBackend, type Processor, type WorkerOptions } from 'bullmq'
import { nameOfProcess } from '../../src/machine/process-name.ts'
import type { Backend } from './backend.ts'
import { queueNames } from './queue-names.ts'
import type { Counts, Payload } from './queues.ts'

type QueueOptions = Omit<WorkerOptions, 'connection' | 'autorun' | 'name' | 'telemetry'>

/**
 * A worker of one of our queues. It finds the queue by its backend, takes no job until `run` is called, writes the name of its process into
 * its jobs, and cancels those that it lost.
 */
export function createQueueWorker<Name extends string = string>(
  backend: Backend,
  queue: keyof ReturnType<typeof queueNames>,
  processor: Processor<Payload, Counts, Name>,
  options: QueueOptions,
) {
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  const { telemetry } = backend
  const ours = { connection: {}, autorun: false, name: nameOfProcess(), ...(telemetry !== undefined && { telemetry }) }
  const worker = new Worker<Payload, Counts, Name>(queueNames(backend)[queue], processor, { ...ours, ...options })
  // Another worker has the job now, or the queue lost it: in both cases its run must not write any more.
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const jobId of jobIds) worker.cancelJob(jobId, 'the lock of this job was lost')
  })
  return worker
}
