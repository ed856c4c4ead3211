import { randomUUID } from 'node:crypto'
import { withBackend, type IQueueBackend } from 'bullmq'
import { z } from 'zod'
import type { Trigger } from '../../src/report.ts'
import { nextTickMs } from '../schedule/due-times.ts'
import type { Backend } from './backend.ts'

/** The payload of a job: the organization to mirror. The worker that runs it looks up everything else. */
export const payload = z.strictObject({ organization: z.string() })
export type Payload = z.output<typeof payload>

/** The result of a job: only numbers. */
export type Counts = Record<string, number>

/** The result of requesting a run: a new job, or an existing one in this state. */
export type Requested = { added: boolean; state: string }

export type Queues = ReturnType<typeof openQueues>

/** Attempts of a job whose service is not available: with their waits, about an hour. */
const ATTEMPTS = 12
const DAY_S = 86_400

/**
 * Two queues. A tick says that an organization is due, and is processed in a moment; a sync job mirrors it. Every request to
 * mirror an organization becomes a sync job with its id, of which there is one at a time.
 */
export function openQueues(backend: Backend) {
  const { Queue } = withBackend<IQueueBackend, unknown>(backend.factory)
  const { tick: tickName, sync: syncName } = queueNames(backend)
  const options = { connection: {}, ...(backend.telemetry !== undefined && { telemetry: backend.telemetry }) }
  const tick = new Queue<Payload, Counts>(tickName, { ...options, settings: { repeatStrategy: nextTickMs } })
  const sync = new Queue<Payload, Counts, Trigger>(syncName, options)

  /** Requests a run of an organization, now or after a delay. */
  async function requestSync(
    organization: string,
    trigger: Trigger,
    { delayMs = 0, attempts = ATTEMPTS }: { delayMs?: number; attempts?: number } = {},
  ): Promise<Requested> {
    const jobId = `${organization}.${randomUUID()}`
    const job = await sync.add(
      trigger,
      { organization },
      {
        jobId,
        delay: delayMs,
        attempts,
        backoff: { type: 'custom' },
        deduplication: { id: organization },
        // The mirror records runs; the queue keeps recent jobs only for inspection.
        removeOnComplete: { age: 2 * DAY_S, count: 1000 },
        removeOnFail: { age: 14 * DAY_S, count: 1000 },
        stackTraceLimit: 0,
      },
    )
    if (job.id === jobId) return { added: true, state: 'waiting' }
    return { added: false, state: job.id === undefined ? 'unknown' : ((await sync.getJobState(job.id)) ?? 'unknown') }
  }

  return {
    tick,
    sync,
    requestSync,
    close: async () => {
      await Promise.all([tick.close(), sync.close()])
    },
  }
}

/** The names of the queues in the database. */
export function queueNames({ prefix }: Pick<Backend, 'prefix'>): { tick: string; sync: string } {
  return { tick: `${prefix}-tick`, sync: `${prefix}-sync` }
}
