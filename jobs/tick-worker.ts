import { withBackend, type IQueueBackend } from 'bullmq'
import type { Organization } from '../src/config/organization.ts'
import type { Backend } from './backend.ts'
import { startDelayMs } from './due-times.ts'
import { payload, queueNames, type Counts, type Payload, type Queues } from './queues.ts'

export type TickWorker = ReturnType<typeof startTickWorker>

/**
 * Starts turning ticks into sync jobs. A tick takes no longer than that, however long a run takes, so none is ever late
 * because of the one before; and while an organization still has a sync job, its ticks add nothing.
 */
export function startTickWorker(
  backend: Backend,
  { requestSync }: Pick<Queues, 'requestSync'>,
  organizationOf: (id: string) => Organization | undefined,
) {
  const { Worker } = withBackend<IQueueBackend, unknown>(backend.factory)
  return new Worker<Payload, Counts>(
    queueNames(backend).tick,
    async (job) => {
      const { organization } = payload.parse(job.data)
      const schedule = organizationOf(organization)?.schedule
      if (schedule === undefined) return {}
      const { added } = await requestSync(organization, 'schedule', { delayMs: startDelayMs(organization, schedule) })
      return { added: Number(added) }
    },
    { connection: {}, ...(backend.telemetry !== undefined && { telemetry: backend.telemetry }), autorun: false },
  )
}
