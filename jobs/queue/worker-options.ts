import type { Backend } from './backend.ts'
import { lockName } from './lock-names.ts'

/** The options of every worker: it finds the queue by its backend, takes no job until `run` is called, and writes its name into its jobs. */
export function workerOptions({ telemetry }: Pick<Backend, 'telemetry'>) {
  return { connection: {}, autorun: false, name: lockName(), ...(telemetry !== undefined && { telemetry }) }
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
