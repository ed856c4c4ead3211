import { randomUUID } from 'node:crypto'
import { withBackend, type IQueueBackend, type JobsOptions } from 'bullmq'
import { z } from 'zod'
import type { Trigger } from '../../src/report.ts'
import { nextTickMs } from '../schedule/due-times.ts'
import type { Backend } from './backend.ts'
import { queueNames } from './queue-names.ts'

/** The payload of a job: the organization to mirror. The worker that runs it looks up everything else. */
export const payload = z.strictObject({ organization: z.string() })
export type Payload = z.output<typeof payload>

/** The result of a job: only numbers. */
export type Counts = Record<string, number>

/** The result of requesting a run: a new job, or an existing one in this state; without an id if that has just ended. */
export type Requested = { added: boolean; state: string; id: string | undefined }

export type Queues = ReturnType<typeof openQueues>

/** Attempts of a job whose service is not available: with their waits, about an hour. */
const ATTEMPTS = 12
const DAY_S = 86_400

/**
 * Three queues. A tick says that an organization is due, and is processed in a moment; a sync job mirrors it. Every request to
 * mirror an organization becomes a sync job with its id, of which there is one at a time. A quick job makes a quick run, and there
 * is one for each organization too; quick jobs have a queue and a worker of their own, so that they never take the place of a
 * sync job.
 */
export function openQueues(backend: Backend) {
  const backed = withBackend<IQueueBackend, unknown>(backend.factory)
  const names = queueNames(backend)
  const options = { connection: {}, ...(backend.telemetry !== undefined && { telemetry: backend.telemetry }) }
  const tick = new backed.Queue<Payload, Counts>(names.tick, { ...options, settings: { repeatStrategy: nextTickMs } })
  const sync = new backed.Queue<Payload, Counts, Trigger>(names.sync, options)
  const quick = new backed.Queue<Payload, Counts, Trigger>(names.quick, options)

  /** Requests a run of an organization, now or after a delay. */
  const requestSync = async (
    organization: string,
    trigger: Trigger,
    { delayMs = 0, askedAtMs }: RequestOptions = {},
  ): Promise<Requested> => {
    const asked = askedAtMs === undefined ? {} : { timestamp: askedAtMs }
    const requested = await request(sync, organization, trigger, { ...SYNC_JOB, ...asked, delay: delayMs })
    if (!requested.added && trigger === 'manual') await markAsked(sync, organization)
    return requested
  }

  /** Requests a quick run of an organization, now or after a delay. */
  const requestQuick = async (
    organization: string,
    trigger: Trigger,
    { delayMs = 0 }: { delayMs?: number } = {},
  ): Promise<Requested> => request(quick, organization, trigger, { ...QUICK_JOB, delay: delayMs })

  const all = [tick, sync, quick] as const
  return {
    tick,
    sync,
    quick,
    all,
    requestSync,
    requestQuick,
    close: async () => {
      await Promise.all(all.map((queue) => queue.close()))
    },
  }
}

type RequestOptions = {
  delayMs?: number
  /** When it was decided that the run is needed, if that was not now. */
  askedAtMs?: number
}

/** Notes at the job of an organization that a person wants its run, so that it is made although the schedule needs none. */
async function markAsked(sync: Pick<Queues['sync'], 'getDeduplicationJobId' | 'addJobLog'>, organization: string) {
  const jobId = await sync.getDeduplicationJobId(organization)
  // Rejects for a job that has ended meanwhile.
  if (jobId !== null) await sync.addJobLog(jobId, ASKED).catch(() => {})
}

const ASKED = 'asked for by a person'

/** Whether a person asked for a run of this organization while this job of the schedule was in the queue. */
export async function isAsked(sync: Pick<Queues['sync'], 'getJobLogs'>, jobId: string): Promise<boolean> {
  return (await sync.getJobLogs(jobId)).logs.includes(ASKED)
}

/** The mirror records runs; the queue keeps recent jobs only for inspection. */
const SYNC_JOB = {
  attempts: ATTEMPTS,
  backoff: { type: 'custom' },
  removeOnComplete: { age: 2 * DAY_S, count: 1000 },
  removeOnFail: { age: 14 * DAY_S, count: 1000 },
} as const

/** A quick run is not retried: the next one finds the same. */
const QUICK_JOB = {
  attempts: 1,
  removeOnComplete: { age: DAY_S, count: 1000 },
  removeOnFail: { age: 2 * DAY_S, count: 1000 },
} as const

/** Adds a job, or finds the one that the organization has in this queue. */
async function request(
  queue: Queues['sync'],
  organization: string,
  trigger: Trigger,
  options: JobsOptions,
): Promise<Requested> {
  const jobId = `${organization}.${randomUUID()}`
  const asked = { ...options, jobId, deduplication: { id: organization }, stackTraceLimit: 0 }
  const { id } = await queue.add(trigger, { organization }, asked)
  if (id === jobId) return { added: true, state: 'waiting', id }
  if (id === undefined) return { added: false, id, state: 'unknown' }
  const state = (await queue.getJobState(id)) ?? 'unknown'
  // A job that ends takes its claim along. A Redis that makes room drops a job or a list of them, and the claim would stay for ever.
  const isLeft = ENDED.has(state) && (await queue.backend.removeDeduplicationKey(organization, id)) > 0
  return isLeft ? request(queue, organization, trigger, options) : { added: false, id, state }
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'unknown'])

/** The state of the job of an organization in a queue; undefined where it has none. */
export async function jobStateOf(
  queue: Pick<Queues['sync'], 'getDeduplicationJobId' | 'getJobState'>,
  organization: string,
): Promise<string | undefined> {
  const id = await queue.getDeduplicationJobId(organization)
  return id === null ? undefined : ((await queue.getJobState(id)) ?? undefined)
}
