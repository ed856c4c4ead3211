import { z } from 'zod'
import { type OpenedQueue, type QueueConfig, withQueues } from './queue/backend.ts'
import { RUN_KINDS, type RunKind, type SharedValues, valuesNamed } from './queue/port.ts'
import { ENDED, failureOf, type Queues } from './queue/queues.ts'
import { Cancelled } from '../src/errors/errors.ts'
import { sleep, repeatedly, succeeds, within } from '../src/machine/timers.ts'

/** By organization: a person cancelled these of its jobs, and no run is made up for a due time until then, in Unix milliseconds. */
export const cancellations = valuesNamed('cancel:', z.object({ jobs: z.array(z.string()), untilMs: z.number() }))

/** How long a run waits for a queue that does not answer. */
const FIRST_LOOK_MS = 500

/** Does the work of a job. The signal is aborted with Cancelled when a person cancels that job. */
export async function cancellable<Result>(
  { id = '', data: { organization } }: { id?: string | undefined; data: { organization: string } },
  { values, lookMs }: { values: Pick<SharedValues, 'read'>; lookMs: number },
  work: (cancelled: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const cancelled = new AbortController()
  const looking = repeatedly(lookMs, async () => {
    const asked = await cancellations.read(values, organization)
    const said = `${organization}: cancelled with 'customer-mirror cancel'. What was read so far is saved, and the next run goes on from there.`
    if (asked?.jobs.includes(id) === true) cancelled.abort(new Cancelled(said))
  })
  try {
    // The job may come from a worker that ended before it saw the cancel: then no request is sent.
    await within(looking.now(), FIRST_LOOK_MS, undefined)
    return await work(cancelled.signal)
  } finally {
    looking.stop()
  }
}

/** What came of a cancel. `ended`: after its current pages. `removed`: while it waited. `was-over`: by itself before. `unanswered`: it will end. */
type CancelEnd = (typeof GRAVEST_FIRST)[number]
const GRAVEST_FIRST = ['unanswered', 'ended', 'removed', 'was-over', 'nothing'] as const

type CancelWaiting = {
  now: () => number
  monotonicMs: () => number
  longestMs: number
  /** Aborting it ends the wait; what was asked stays asked. */
  signal: AbortSignal
}

/** Cancels the runs of these organizations, of every kind, and waits until their workers have ended them. */
export async function cancelRuns(config: QueueConfig, organizations: readonly string[], waiting: CancelWaiting) {
  return withQueues({ ...config, noSharedQueue: NO_SHARED_QUEUE }, (opened) =>
    Promise.all(
      organizations.map(async (organization) => ({ organization, end: await cancel(opened, organization, waiting) })),
    ),
  )
}

async function cancel({ backend: { values }, queues }: OpenedQueue, organization: string, waiting: CancelWaiting) {
  const found = (await Promise.all(RUN_KINDS.map((kind) => findOpen(queues, kind, organization)))).flat()
  if (found.length === 0) return 'nothing'
  // The clock of the worker that added the job may be ahead.
  const untilMs = Math.max(waiting.now(), ...found.map(({ job }) => job.timestamp))
  await cancellations.write(values, organization, { jobs: found.map(({ id }) => id), untilMs })
  const ends = await Promise.all(found.map((each) => endOf(each, waiting)))
  if (ends.every((end) => end === 'was-over')) await cancellations.delete(values, organization)
  return GRAVEST_FIRST.find((end) => ends.includes(end)) ?? 'nothing'
}

type Found = Awaited<ReturnType<typeof findOpen>>[number]

async function findOpen(queues: Queues, kind: RunKind, organization: string) {
  const job = await queues.jobOf(kind, organization)
  return job?.id === undefined || ENDED.has(await job.getState()) ? [] : [{ queue: queues[kind], id: job.id, job }]
}

/** Takes the job out of the queue, or waits until its worker has ended it. */
async function endOf({ queue, id, job }: Found, { monotonicMs, longestMs, signal }: CancelWaiting): Promise<CancelEnd> {
  const untilMs = monotonicMs() + longestMs
  for (;;) {
    const state = await job.getState()
    if (ENDED.has(state)) {
      const ended = await queue.getJob(id)
      return ended !== undefined && failureOf(ended) === 'cancelled' ? 'ended' : 'was-over'
    }
    // None is removed that a worker took meanwhile.
    if (state !== 'active' && (await succeeds(job.remove()))) return 'removed'
    if (signal.aborted || monotonicMs() >= untilMs) return 'unanswered'
    await sleep(LOOK_MS, signal).catch(() => {})
  }
}

const LOOK_MS = 250

const NO_SHARED_QUEUE =
  'There is no queue to cancel a job in: an embedded queue is open only in its worker. Stop that worker (Ctrl-C or SIGTERM): it ends ' +
  'its runs after their current pages, and goes on with them when it is started again. A sync in a terminal ends by Ctrl-C.'
