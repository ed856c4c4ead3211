import { randomUUID } from 'node:crypto'
import { DelayedError, type Job, type Processor, WaitingError, withBackend, type WorkerOptions } from 'bullmq'
import { z } from 'zod'
import { nameOfProcess } from '../../src/machine/process-name.ts'
import { succeeds } from '../../src/machine/timers.ts'
import { storedWait, type Wait } from '../../src/status/standing.ts'
import type { Trigger } from '../../src/model/report.ts'
import { isFarAhead } from '../../src/time/moments.ts'
import { PROGRAM_VERSION } from '../../src/machine/version.ts'
import type { Timings } from '../timings.ts'
import { KINDS, ofEachKind, type QueueName, type RunKind, nameInDatabase, type Backend } from './port.ts'

/** The payload of a job: the organization, the due time that it is for (Unix milliseconds), and the version that asked for it. */
export const payload = z.strictObject({
  organization: z.string(),
  dueMs: z.number().optional(),
  version: z.string().optional(),
})
type Payload = z.output<typeof payload>

export type RunJob = Job<Payload, void, Trigger>

/** The due time that a run is for, the time now, and when it was decided that it is needed, if that was not now. */
type Asked = { dueMs?: number; nowMs?: number; askedAtMs?: number }

export type Queues = ReturnType<typeof openQueues>

/** The queues: of each kind of run, every organization has one job at a time. A notify job reports a night. */
export function openQueues(backend: Backend) {
  const backed = withBackend(backend.factory)
  const options = { connection: {} }
  const runs = ofEachKind((kind) => new backed.Queue<Payload, void, Trigger>(nameInDatabase(backend, kind), options))
  const notify = new backed.Queue<unknown, void>(nameInDatabase(backend, 'notify'), options)
  const all = [...Object.values(runs), notify] as const

  /** Adds a job (`added`), or finds the one that the organization has, in its state. The job of a due time has its name, also after it has ended. */
  async function request(kind: RunKind, organization: string, trigger: Trigger, asked: Asked = {}): Promise<string> {
    const { askedAtMs, dueMs, nowMs = Infinity } = asked
    const queue = runs[kind]
    const jobId = `${organization}.${trigger === 'schedule' && dueMs !== undefined ? dueMs : randomUUID()}`
    const named = { ...KINDS[kind].job, jobId, deduplication: { id: organization }, stackTraceLimit: 0 }
    const when = askedAtMs !== undefined && { timestamp: askedAtMs }
    const { id } = await queue.add(trigger, { organization, dueMs, version: PROGRAM_VERSION }, { ...named, ...when })
    if (id === jobId) return 'added'
    if (id === undefined) return 'unknown'
    const state = (await queue.getJobState(id)) ?? 'unknown'
    const delayed = state === 'delayed' ? await queue.getJob(id) : undefined
    if (delayed !== undefined && isFarAhead(delayed.processedOn ?? 0, nowMs)) {
      // A clock that was ahead then, and was set back since, named the end of its wait. Another worker may have started it in this moment.
      await succeeds(delayed.promote())
      return 'waiting'
    }
    // A job that ends takes its claim along. A Redis that makes room drops a job or a list of them, and the claim would stay for ever.
    const isLeft = ENDED.has(state) && (await queue.backend.removeDeduplicationKey(organization, id)) > 0
    return isLeft ? request(kind, organization, trigger, asked) : state
  }

  /** The job of an organization, which may have ended; undefined where it has none. */
  async function jobOf(kind: RunKind, organization: string) {
    const id = await runs[kind].getDeduplicationJobId(organization)
    return id === null ? undefined : runs[kind].getJob(id)
  }

  const stateOf = async (kind: RunKind, organization: string) => (await jobOf(kind, organization))?.getState()

  return { ...runs, notify, all, request, jobOf, stateOf, close: () => Promise.all(all.map((queue) => queue.close())) }
}

/** Delays a job without using one of its attempts. `then` follows a move that the queue does not refuse, as it does where the job was lost. */
export async function putOff(job: Job, untilMs: number, then?: () => unknown): Promise<never> {
  await job.moveToDelayed(untilMs, job.token)
  await then?.()
  throw new DelayedError()
}

/** Back to the head of the queue, as if it had not been started. */
export async function handBack(job: Job): Promise<never> {
  await job.moveToWait(job.token)
  throw new WaitingError()
}

/** The states of a job that has ended, or that the queue has lost. */
export const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'unknown'])

/** Puts back what a process had when it was killed, in a queue that one process has at a time. Others wait for its locks to end. */
export async function putBackLeft({ all }: Queues): Promise<void> {
  // By this token BullMQ asks for no lock.
  for (const queue of all) for (const job of await queue.getActive()) await job.moveToWait('0')
}

/** What a job keeps between two starts, because several workers may run it in turn. */
const progress = z.object({
  /** How long it has waited since it last saved a page. */
  waitedMs: z.number().nonnegative().catch(0),
  /** What it waits for, or waited for last. */
  wait: storedWait.optional().catch(undefined),
})

/** The progress of a job; none where it has none yet, or where a newer version wrote it. */
export function progressOf(job: { progress: unknown }) {
  return progress.catch({ waitedMs: 0 }).parse(job.progress)
}

/** What a job waits for: until it is started again, or inside its run. */
export function waitOf(job: { progress: unknown }, state: string): Wait | undefined {
  const { wait } = progressOf(job)
  return state === 'delayed' ? (wait ?? { why: 'retry' }) : wait
}

/** The code of the error that ended the last attempt of a job: `run-job.ts` has it begin with that. */
export function failureOf(job: { failedReason?: string }): string | undefined {
  return job.failedReason?.split(':')[0]
}

/** What the jobs of full runs wait for now, by organization. */
export async function listWaits({ sync }: Pick<Queues, 'sync'>) {
  const [active, delayed] = await Promise.all([sync.getActive(), sync.getDelayed()])
  const waits = (jobs: typeof active, state: string) =>
    jobs.map((job) => [job.data.organization, waitOf(job, state)] as const)
  return new Map([...waits(active, 'running'), ...waits(delayed, 'delayed')])
}

type Heartbeat = Pick<Timings, 'lockMs' | 'stalledMs'>

/** A worker of one of our queues. It takes no job until `run` is called, and cancels those that it lost. */
export function createQueueWorker<Data, Name extends string = string>(
  backend: Backend,
  queue: QueueName,
  processor: Processor<Data, void, Name>,
  { timings: { lockMs, stalledMs }, ...options }: Omit<WorkerOptions, 'connection'> & { timings: Heartbeat },
) {
  const { Worker } = withBackend(backend.factory)
  const worker = new Worker<Data, void, Name>(nameInDatabase(backend, queue), processor, {
    ...{ connection: {}, autorun: false, name: nameOfProcess(), lockDuration: lockMs, stalledInterval: stalledMs },
    ...options,
  })
  // Another worker has the job now, or the queue lost it: in both cases its run must not write any more.
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const jobId of jobIds) worker.cancelJob(jobId, 'the lock of this job was lost')
  })
  return worker
}
