import type { Job } from 'bullmq'
import { type Changed, pause, readPauses, resume } from '../pauses.ts'
import { type QueueConfig, releaseQueue, withQueues } from '../queue/backend.ts'
import { type Kind, KINDS, RUN_KINDS, type RunKind } from '../queue/kinds.ts'
import { payload, type Payload, waitOf } from '../queue/queues.ts'
import { ALL, type Pauses } from '../../src/model/pause.ts'
import type { Wait } from '../../src/status/standing.ts'

/** A job in the queue. Times in Unix milliseconds. */
type ListedJob = {
  /** A question mark where another program made the job. */
  organization: string
  kind: Kind['name']
  trigger: string
  state: 'running' | 'waiting' | 'delayed'
  /** What it waits for: until it is started, or inside its run. */
  wait: Wait | undefined
  /** When it was taken by its worker, or put into the queue. */
  sinceMs: number
  /** The process of the worker that runs it, as `process-name.ts` names it. */
  worker: string | undefined
  failures: number
}

export type ListedQueue = { place: string; jobs: ListedJob[]; pauses: Pauses }

/** The jobs of a queue, those that run first, and the pauses in it. */
export async function listJobs(config: QueueConfig): Promise<ListedQueue> {
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

/** Lets the next worker that asks bring its mirror to the queue. */
export async function releaseMirror(config: QueueConfig): Promise<void> {
  await withQueues(config, {}, ({ backend: { values } }) => releaseQueue(values))
}

const STATES = [
  { state: 'running', types: ['active'] },
  { state: 'waiting', types: ['waiting', 'prioritized'] },
  { state: 'delayed', types: ['delayed'] },
] as const

function listed(job: Job<Payload, void>, kind: RunKind, state: ListedJob['state']): ListedJob {
  return {
    organization: payload.safeParse(job.data).data?.organization ?? '?',
    ...{ kind: KINDS[kind].name, state, trigger: job.name, wait: waitOf(job, state) },
    sinceMs: (state === 'running' ? job.processedOn : undefined) ?? job.timestamp,
    worker: state === 'running' ? job.processedBy : undefined,
    failures: job.attemptsMade,
  }
}

function byTime(left: ListedJob, right: ListedJob): number {
  return (left.wait?.untilMs ?? left.sinceMs) - (right.wait?.untilMs ?? right.sinceMs)
}

/** Pauses these organizations, or all of them where none is named, for every worker of the queue. */
export async function pauseOrganizations(
  config: QueueConfig,
  organizations: readonly string[],
  when: { nowMs: number; untilMs: number | undefined },
): Promise<Changed[]> {
  return withQueues(config, {}, ({ backend: { values } }) => pause(values, namesOf(organizations), when))
}

/** Ends the pauses of these organizations, or every pause where none is named. */
export async function resumeOrganizations(
  config: QueueConfig,
  organizations: readonly string[],
  nowMs: number,
): Promise<Changed[]> {
  return withQueues(config, {}, ({ backend: { values } }) => resume(values, namesOf(organizations), nowMs))
}

function namesOf(organizations: readonly string[]): readonly string[] {
  return organizations.length === 0 ? [ALL] : organizations
}
