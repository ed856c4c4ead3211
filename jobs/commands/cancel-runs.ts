import { sleep } from '../../src/machine/timers.ts'
import { succeedsWithin } from '../queue/deadline.ts'
import { jobStateOf, type Queues } from '../queue/queues.ts'
import { answerOf, withQueues, type OpenedQueue, type QueueConfig } from '../queue/with-queues.ts'
import { deleteCancellation, writeCancellation } from '../run/cancellations.ts'

/**
 * What came of a cancel. `ended`: the run ended after its current pages. `removed`: its job was taken out of the queue before it was
 * started, or while it waited to go on. `was-over`: it ended by itself meanwhile. `nothing`: there was no job. `unanswered`: the
 * worker has not ended it yet, and does as soon as it sees the cancel.
 */
export type CancelEnd = 'ended' | 'removed' | 'was-over' | 'nothing' | 'unanswered'

export type CancelWaiting = {
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
  /** How long to wait for the worker. */
  longestMs: number
  lookMs?: number
  /** Aborting it ends the wait; what was asked stays asked. */
  signal: AbortSignal
}

/** Cancels the runs of these organizations, quick runs included, and waits until their workers have ended them. */
export async function cancelRuns(
  config: QueueConfig,
  organizations: readonly string[],
  waiting: CancelWaiting,
): Promise<{ organization: string; end: CancelEnd }[]> {
  return withQueues(config, NO_SHARED_QUEUE, (opened) =>
    Promise.all(
      organizations.map(async (organization) => ({ organization, end: await cancel(opened, organization, waiting) })),
    ),
  )
}

async function cancel(opened: OpenedQueue, organization: string, waiting: CancelWaiting): Promise<CancelEnd> {
  const { backend, queues } = opened
  const found = await answerOf(backend, findJobs(queues, organization))
  if (found.length === 0) return 'nothing'
  const askedAtMs = waiting.now()
  const asked = {
    jobs: found.map(({ id }) => id),
    askedAtMs,
    // The clock of the worker that added the job may be ahead.
    untilMs: Math.max(askedAtMs, ...found.map(({ meantForMs }) => meantForMs)),
  }
  await answerOf(backend, writeCancellation(backend.values, organization, asked))
  const ends = await Promise.all(found.map((job) => endOf(opened, job, waiting)))
  if (ends.every((end) => end === 'was-over')) await answerOf(backend, deleteCancellation(backend.values, organization))
  return GRAVEST.find((end) => ends.includes(end)) ?? 'nothing'
}

const GRAVEST: readonly CancelEnd[] = ['unanswered', 'ended', 'removed', 'was-over']

type Found = { queue: Queues['sync']; id: string; meantForMs: number; wasStarted: boolean }

async function findJobs({ sync, quick }: Queues, organization: string): Promise<Found[]> {
  const found: Found[] = []
  for (const queue of [sync, quick]) {
    const id = await queue.getDeduplicationJobId(organization)
    const job = id === null ? undefined : await queue.getJob(id)
    if (id !== null && job !== undefined && !isOver(await queue.getJobState(id)))
      found.push({
        ...{ queue, id, meantForMs: job.timestamp },
        wasStarted: job.attemptsStarted > 0,
      })
  }
  return found
}

/** Takes the job out of the queue, or waits until its worker has ended it. */
async function endOf({ backend }: OpenedQueue, job: Found, waiting: CancelWaiting): Promise<CancelEnd> {
  const { monotonicMs, longestMs, lookMs = LOOK_MS, signal } = waiting
  const sinceMs = monotonicMs()
  const untilMs = sinceMs + longestMs
  // The run before a wait says that it goes on by itself: a worker that starts the job ends it at once, and records that.
  const isPromoted = job.wasStarted && (await answerOf(backend, isPromotedNow(job)))
  for (;;) {
    const state = await answerOf(backend, job.queue.getJobState(job.id))
    if (isOver(state)) return await answerOf(backend, endOfOver(job))
    const isLeft = isPromoted && monotonicMs() < sinceMs + LEFT_TO_WORKER_MS
    if (state !== 'active' && !isLeft && (await answerOf(backend, isRemoved(job)))) return 'removed'
    if (signal.aborted || monotonicMs() >= untilMs) return 'unanswered'
    await sleep(lookMs, signal).catch(() => {})
  }
}

async function endOfOver({ queue, id }: Found): Promise<CancelEnd> {
  const job = await queue.getJob(id)
  return job?.failedReason?.startsWith('cancelled:') === true ? 'ended' : 'was-over'
}

/** Whether the job waited, and is now the next for a worker. */
async function isPromotedNow({ queue, id }: Found): Promise<boolean> {
  const job = await queue.getJob(id)
  if (job === undefined || (await queue.getJobState(id)) !== 'delayed') return false
  return succeedsWithin(job.promote(), ANSWER_MS)
}

/** Whether the job could be removed: not if a worker took it meanwhile. */
async function isRemoved({ queue, id }: Found): Promise<boolean> {
  const job = await queue.getJob(id)
  if (job === undefined) return false
  return succeedsWithin(job.remove(), ANSWER_MS)
}

function isOver(state: Awaited<ReturnType<typeof jobStateOf>> | null): boolean {
  return state === undefined || state === null || state === 'completed' || state === 'failed' || state === 'unknown'
}

const LOOK_MS = 250
const ANSWER_MS = 3000
/** How long a job that waited is left to a worker. Without one it is removed. */
const LEFT_TO_WORKER_MS = 3000

const NO_SHARED_QUEUE =
  'There is no queue to cancel a job in: an embedded queue is open only in its worker. Stop that worker (Ctrl-C or SIGTERM): it ends ' +
  'its runs after their current pages, and goes on with them when it is started again. A sync in a terminal ends by Ctrl-C.'
