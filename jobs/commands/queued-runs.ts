import type { Job } from 'bullmq'
import { cancellations } from '../cancel.ts'
import { type Changed, pause, readPauses, resume } from '../pauses.ts'
import { type OpenedQueue, type QueueConfig, requireMirrorOfQueue, withQueues } from '../queue/backend.ts'
import { succeeds } from '../timings.ts'
import { KINDS, RUN_KINDS, type RunKind } from '../queue/port.ts'
import { findJob, jobStateOf, payload, type Payload, progressOf, waitOf } from '../queue/queues.ts'
import { ALL, pauseOf, type Pause } from '../../src/model/pause.ts'

/** The jobs of a queue, those that run first, and the pauses in it. */
export async function listJobs(config: QueueConfig) {
  return withQueues(config, {}, async ({ backend: { place, values }, queues }) => {
    const looks = STATES.flatMap(({ types, state }) =>
      RUN_KINDS.map(async (kind) => {
        const jobs = await queues[kind].getJobs([...types], 0, -1, true)
        return jobs.map((job) => listed(job, kind, state)).toSorted(byTime)
      }),
    )
    const [jobs, pauses] = await Promise.all([Promise.all(looks), readPauses(values)])
    return { place, jobs: jobs.flat(), pauses }
  })
}

const STATES = [
  { state: 'running', types: ['active'] },
  { state: 'waiting', types: ['waiting', 'prioritized'] },
  { state: 'delayed', types: ['delayed'] },
] as const

/** A job as commands show it. Times in Unix milliseconds. */
function listed(job: Job<Payload, void>, kind: RunKind, state: (typeof STATES)[number]['state']) {
  const isRunning = state === 'running'
  return {
    // Another program may have made the job.
    organization: payload.safeParse(job.data).data?.organization ?? '?',
    ...{ kind: KINDS[kind].name, state, trigger: job.name, wait: waitOf(job, state) },
    sinceMs: (isRunning ? job.processedOn : undefined) ?? job.timestamp,
    /** The process of the worker, as `process-name.ts` names it. */
    worker: isRunning ? job.processedBy : undefined,
    failures: job.attemptsMade,
  }
}

type ListedJob = ReturnType<typeof listed>

function byTime(left: ListedJob, right: ListedJob): number {
  return (left.wait?.untilMs ?? left.sinceMs) - (right.wait?.untilMs ?? right.sinceMs)
}

/** Pauses these organizations for every worker of the queue, or ends their pauses; all of them where none is named. */
export async function changePauses(
  config: QueueConfig,
  organizations: readonly string[],
  change: { pause: { nowMs: number; untilMs: number | undefined } } | { resumeMs: number },
): Promise<Changed[]> {
  const names = organizations.length === 0 ? [ALL] : organizations
  return withQueues(config, {}, ({ backend: { values } }) =>
    'pause' in change ? pause(values, names, change.pause) : resume(values, names, change.resumeMs),
  )
}

/** What became of a request: a new job, or the one that the organization has. */
export type RequestedRun = {
  organization: string
  added: boolean
  /**
   * The state of the job; `started` where it was delayed and no longer is, `full-run` where a full run makes a partial one needless, and
   * `told-to-wait` where the service has said when to ask again. Where the organization is `paused`, nothing was requested.
   */
  state: string
  /** Until when the service asked to wait, or the pause lasts, in Unix milliseconds. */
  untilMs?: number | undefined
}

/** Requests a run of each of these organizations now. A job that waits for its next attempt starts, unless the service said when. */
export async function requestRuns(
  config: QueueConfig,
  organizations: readonly string[],
  { kind, nowMs }: { kind: RunKind; nowMs: number },
): Promise<RequestedRun[]> {
  return withQueues(config, { noSharedQueue: NO_SHARED_QUEUE }, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    const requested: RequestedRun[] = []
    const pauses = await readPauses(opened.backend.values)
    for (const organization of organizations) {
      const paused = pauseOf(pauses, organization, nowMs)
      requested.push({ organization, ...(await request(opened, organization, { kind, nowMs, paused })) })
    }
    return requested
  })
}

async function request(
  { queues, backend }: OpenedQueue,
  organization: string,
  { kind, nowMs, paused }: { kind: RunKind; nowMs: number; paused: Pause | undefined },
): Promise<Omit<RequestedRun, 'organization'>> {
  if (paused !== undefined) return { added: false, state: 'paused', untilMs: paused.untilMs }
  const { isPartial } = KINDS[kind]
  if (isPartial && (await jobStateOf(queues.sync, organization)) !== undefined)
    return { added: false, state: 'full-run' }
  const { added, state } = await queues.request(kind, organization, 'manual')
  // What was cancelled before is wanted again.
  if (added && !isPartial) await cancellations.delete(backend.values, organization)
  return { added, ...(state === 'delayed' ? await hasten(queues[kind], organization, nowMs) : { state }) }
}

/** Starts a delayed job at once, unless it waits on behalf of its service. */
async function hasten(
  queue: OpenedQueue['queues']['sync'],
  organization: string,
  nowMs: number,
): Promise<Pick<RequestedRun, 'state' | 'untilMs'>> {
  const job = await findJob(queue, organization)
  const { why, untilMs = 0 } = (job && progressOf(job).wait) ?? {}
  if (why === 'rate-limit' && untilMs > nowMs) return { state: 'told-to-wait', untilMs }
  // Where it cannot be promoted, it was started, or ended, in this moment.
  const isStarted = job !== undefined && (await succeeds(job.promote()))
  return { state: isStarted ? 'started' : ((await jobStateOf(queue, organization)) ?? 'ended') }
}

const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  "address as queue in the configuration, or run 'customer-mirror sync' instead."
