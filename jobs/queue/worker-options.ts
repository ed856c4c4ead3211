import type { Backend } from './backend.ts'

/** The options of every worker: it finds the queue by its backend, and takes no job before it is told to run. */
export function workerOptions({ telemetry }: Pick<Backend, 'telemetry'>) {
  return { connection: {}, autorun: false, ...(telemetry !== undefined && { telemetry }) }
}

type Cancelling = {
  on(event: 'lockRenewalFailed', listener: (jobIds: string[]) => void): unknown
  cancelJob(jobId: string, reason: string): unknown
}

/** Another worker has the job now, or the queue lost it: in both cases its run must not write any more. */
export function cancelLostJobs(worker: Cancelling): void {
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const jobId of jobIds) worker.cancelJob(jobId, 'the lock of this job was lost')
  })
}
