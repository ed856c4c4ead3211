import { randomUUID } from 'node:crypto'
import { withBackend, type IQueueBackend } from 'bullmq'
import { z } from 'zod'
import type { Trigger } from '../../src/report.ts'
import type { Backend } from './backend.ts'

/** All that a job carries: whom to mirror. Everything else is looked up where it is run. */
export const payload = z.strictObject({ organization: z.string() })
export type Payload = z.output<typeof payload>

/** What a job leaves behind: numbers alone. */
export type Counts = Record<string, number>

/** What became of asking for a run: queued, or covered by a job that is already there, in this state. */
export type Requested = { added: boolean; state: string }

export type Queues = ReturnType<typeof openQueues>

/** Tries of a job whose service is not available: with their waits, about an hour. */
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
  const tick = new Queue<Payload, Counts>(tickName, options)
  const sync = new Queue<Payload, Counts, Trigger>(syncName, options)

  /** Asks for a run of an organization, now or after a delay. */
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
        // The mirror is where runs are recorded; here they are kept for a look at what happened lately.
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

/** What the queues are called in the database. */
export function queueNames({ prefix }: Pick<Backend, 'prefix'>): { tick: string; sync: string } {
  return { tick: `${prefix}-tick`, sync: `${prefix}-sync` }
}
