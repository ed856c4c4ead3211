import { pauseOf } from '../../src/model/pause.ts'
import { readPauses } from '../pauses.ts'
import { withQueues, type OpenedQueue, type QueueConfig } from '../queue/backend.ts'
import { requireMirrorOfQueue } from '../queue/mirror-of-queue.ts'
import { findJob, jobStateOf, progressOf, type RunKind } from '../queue/queues.ts'
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
  job: { queue: RunKind; id: string } | undefined
}

export type RequestOptions = {
  kind: RunKind
  /** Whether to start jobs that wait for their next attempt. */
  now?: boolean | undefined
  /** Unix milliseconds. */
  clock: () => number
}

/**
 * Requests a run of each of these organizations, and does `then` with what came of it while the queue is open. A job that waits for its moment
 * of the schedule starts at once. With `now`, so does a job that waits for its next attempt, unless its service named a time. A quick run is
 * not added to a full one: the state is then `full-run`.
 */
export async function requestRuns<Result>(
  config: QueueConfig,
  organizations: readonly string[],
  options: RequestOptions,
  then: (requested: RequestedRun[], opened: OpenedQueue) => Promise<Result> | Result,
): Promise<Result> {
  return withQueues(config, { noSharedQueue: NO_SHARED_QUEUE }, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    const requested: RequestedRun[] = []
    const pauses = await readPauses(opened.backend.values)
    for (const organization of organizations) {
      const paused = pauseOf(pauses, organization, options.clock())
      const run =
        paused === undefined
          ? await request(opened, organization, options)
          : { added: false, state: 'paused', untilMs: paused.untilMs, job: undefined }
      requested.push({ organization, ...run })
    }
    return then(requested, opened)
  })
}

async function request(
  { queues, backend }: OpenedQueue,
  organization: string,
  options: RequestOptions,
): Promise<Omit<RequestedRun, 'organization'>> {
  const { kind } = options
  const fullRun = kind === 'sync' ? null : await queues.sync.getDeduplicationJobId(organization)
  if (fullRun !== null && (await jobStateOf(queues.sync, organization)) !== undefined)
    return { added: false, state: 'full-run', job: { queue: 'sync', id: fullRun } }
  const { id, added, state } = await queues.request(kind, organization, 'manual')
  // What was cancelled before is wanted again.
  if (added && kind === 'sync') await deleteCancellation(backend.values, organization)
  const hastened = !added && state === 'delayed' ? await hasten(queues[kind], organization, options) : { state }
  return { added, ...hastened, job: id === undefined ? undefined : { queue: kind, id } }
}

/** Starts a job at once whose pause has ended, or with `now` any delayed job that does not wait on behalf of its service. */
async function hasten(
  queue: OpenedQueue['queues']['sync'],
  organization: string,
  { now, clock }: RequestOptions,
): Promise<Pick<RequestedRun, 'state' | 'untilMs'>> {
  const job = await findJob(queue, organization)
  const { why, untilMs = 0 } = (job && progressOf(job).wait) ?? {}
  if (why === 'rate-limit' && untilMs > clock()) return { state: now ? 'told-to-wait' : 'delayed', untilMs }
  if (job === undefined || (!now && why !== 'pause')) return { state: 'delayed' }
  return job.promote().then(
    () => ({ state: 'started' }),
    // It was started, or ended, in this moment.
    async () => ({ state: (await jobStateOf(queue, organization)) ?? 'ended' }),
  )
}

const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  "address as queue in the configuration, or run 'customer-mirror sync' instead."
