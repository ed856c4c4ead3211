import { pauseOf } from '../../src/model/pause.ts'
import { readPauses } from '../pauses.ts'
import { requireMirrorOfQueue } from '../queue/mirror-of-queue.ts'
import { progressOf } from '../queue/port.ts'
import { jobStateOf, type Queues } from '../queue/queues.ts'
import { withQueues, type OpenedQueue, type QueueConfig } from '../queue/backend.ts'
import { deleteCancellation } from '../run/cancellations.ts'

/** What became of a request: a new job, or the one that the organization has. */
export type RequestedRun = {
  organization: string
  added: boolean
  /**
   * The state of the job; `started` where it was delayed and no longer is, `full-run` where a full run makes a quick run needless,
   * `told-to-wait` where the service has said when to ask again, and `paused` where the organization is paused, so that nothing was
   * requested.
   */
  state: string
  /** Until when the service asked to wait, or the pause lasts, in Unix milliseconds. */
  untilMs?: number | undefined
  /** The job to wait for; undefined where it has just ended. */
  job: { queue: 'sync' | 'quick'; id: string } | undefined
}

export type RequestOptions = {
  /** Whether to ask for quick runs. */
  quick?: boolean | undefined
  /** Whether to start jobs that wait for their next attempt. */
  now?: boolean | undefined
  /** Unix milliseconds. */
  clock: () => number
}

/** Requests a run of each of these organizations, or a quick run. */
export async function requestRuns(
  config: QueueConfig,
  organizations: readonly string[],
  options: RequestOptions,
): Promise<RequestedRun[]> {
  return withQueues(config, { noSharedQueue: NO_SHARED_QUEUE }, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    return requestAll(opened, organizations, options)
  })
}

/**
 * The same, in an open queue. A job that waits for its moment of the schedule starts at once. With `now`, so does a job that waits for its
 * next attempt, unless its service named a time. A quick run is not added to a full one: the state is then `full-run`.
 */
export async function requestAll(
  opened: OpenedQueue,
  organizations: readonly string[],
  { quick = false, now = false, clock }: RequestOptions,
): Promise<RequestedRun[]> {
  const requested: RequestedRun[] = []
  const pauses = await readPauses(opened.backend.values)
  for (const organization of organizations) {
    const paused = pauseOf(pauses, organization, clock())
    if (paused !== undefined) {
      requested.push({ organization, added: false, state: 'paused', untilMs: paused.untilMs, job: undefined })
      continue
    }
    const run = await (quick ? requestQuick(opened, organization) : requestFull(opened, organization))
    const isLate = !run.added && run.state === 'delayed'
    const hastened = isLate ? await hasten(opened.queues, run, { now, nowMs: clock() }) : {}
    requested.push({ organization, ...run, ...hastened })
  }
  return requested
}

type WithoutName = Omit<RequestedRun, 'organization'>

async function requestFull({ queues, backend }: OpenedQueue, organization: string): Promise<WithoutName> {
  const { id, ...requested } = await queues.requestSync(organization, 'manual')
  // What was cancelled before is wanted again.
  if (requested.added) await deleteCancellation(backend.values, organization)
  return { ...requested, job: id === undefined ? undefined : { queue: 'sync', id } }
}

async function requestQuick({ queues }: OpenedQueue, organization: string): Promise<WithoutName> {
  const fullRun = await queues.sync.getDeduplicationJobId(organization)
  if (fullRun !== null && (await jobStateOf(queues.sync, organization)) !== undefined)
    return { added: false, state: 'full-run', job: { queue: 'sync', id: fullRun } }
  const { id, ...requested } = await queues.requestQuick(organization, 'manual')
  return { ...requested, job: id === undefined ? undefined : { queue: 'quick', id } }
}

/** Starts a job at once whose pause has ended, or with `now` any delayed job that does not wait on behalf of its service. */
async function hasten(
  queues: Queues,
  { job: asked, state }: WithoutName,
  { now, nowMs }: { now: boolean; nowMs: number },
): Promise<Pick<RequestedRun, 'state' | 'untilMs'>> {
  const job = asked && (await queues[asked.queue].getJob(asked.id))
  if (job === undefined) return { state }
  const { why, untilMs = 0 } = progressOf(job).wait ?? {}
  if (why === 'rate-limit' && untilMs > nowMs) return { state: now ? 'told-to-wait' : state, untilMs }
  if (!now && why !== 'pause') return { state }
  return job.promote().then(
    () => ({ state: 'started' }),
    // It was started, or ended, in this moment.
    async () => ({ state: (await jobStateOf(queues[asked?.queue ?? 'sync'], job.data.organization)) ?? 'ended' }),
  )
}

export const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  "address as queue in the configuration, or run 'customer-mirror sync' instead."
