import { deleteCancellation } from '../cancel.ts'
import { readPauses } from '../pauses.ts'
import { type OpenedQueue, type QueueConfig, requireMirrorOfQueue, withQueues } from '../queue/backend.ts'
import { succeeds } from '../queue/deadline.ts'
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
      const run =
        paused === undefined
          ? await request(opened, organization, kind, nowMs)
          : { added: false, state: 'paused', untilMs: paused.untilMs }
      requested.push({ organization, ...run })
    }
    return requested
  })
}

async function request(
  { queues, backend }: OpenedQueue,
  organization: string,
  kind: RunKind,
  nowMs: number,
): Promise<Omit<RequestedRun, 'organization'>> {
  const { isPartial } = KINDS[kind]
  if (isPartial && (await jobStateOf(queues.sync, organization)) !== undefined)
    return { added: false, state: 'full-run' }
  const { added, state } = await queues.request(kind, organization, 'manual')
  // What was cancelled before is wanted again.
  if (added && !isPartial) await deleteCancellation(backend.values, organization)
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
