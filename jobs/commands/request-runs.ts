import { deleteCancellation } from '../cancel.ts'
import { readPauses } from '../pauses.ts'
import { type OpenedQueue, type QueueConfig, requireMirrorOfQueue, withQueues } from '../queue/backend.ts'
import { KINDS, type RunKind } from '../queue/kinds.ts'
import { findJob, jobStateOf, progressOf } from '../queue/queues.ts'
import { pauseOf } from '../../src/model/pause.ts'

/** What became of a request: a new job, or the one that the organization has. */
export type RequestedRun = {
  organization: string
  added: boolean
  /**
   * The state of the job; `started` where it was delayed and no longer is, `full-run` where a full run makes a partial one needless,
   * `told-to-wait` where the service has said when to ask again, and `paused` where the organization is paused, so that nothing was
   * requested.
   */
  state: string
  /** Until when the service asked to wait, or the pause lasts, in Unix milliseconds. */
  untilMs?: number | undefined
}

export type RequestOptions = {
  kind: RunKind
  /** Whether to start jobs that wait for their next attempt. */
  now?: boolean | undefined
  clock: () => number
}

/** Requests a run of each of these organizations. */
export async function requestRuns(
  config: QueueConfig,
  organizations: readonly string[],
  options: RequestOptions,
): Promise<RequestedRun[]> {
  return withQueues(config, { noSharedQueue: NO_SHARED_QUEUE }, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    const requested: RequestedRun[] = []
    const pauses = await readPauses(opened.backend.values)
    for (const organization of organizations) {
      const paused = pauseOf(pauses, organization, options.clock())
      const run =
        paused === undefined
          ? await request(opened, organization, options)
          : { added: false, state: 'paused', untilMs: paused.untilMs }
      requested.push({ organization, ...run })
    }
    return requested
  })
}

async function request(
  { queues, backend }: OpenedQueue,
  organization: string,
  options: RequestOptions,
): Promise<Omit<RequestedRun, 'organization'>> {
  const { kind } = options
  if (KINDS[kind].isPartial && (await jobStateOf(queues.sync, organization)) !== undefined)
    return { added: false, state: 'full-run' }
  const { added, state } = await queues.request(kind, organization, 'manual')
  // What was cancelled before is wanted again.
  if (added && !KINDS[kind].isPartial) await deleteCancellation(backend.values, organization)
  const hastened = !added && state === 'delayed' ? await hasten(queues[kind], organization, options) : { state }
  return { added, ...hastened }
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
