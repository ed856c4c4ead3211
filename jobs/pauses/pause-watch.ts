import { isPaused, pauseOf, type Pauses } from '../../src/pause.ts'
import { within } from '../queue/deadline.ts'
import { readPauses } from './pauses.ts'
import { putOffOf } from './put-off.ts'
import type { Queues } from '../queue/queues.ts'
import type { SharedValues } from '../queue/shared-values.ts'
import { oneAtATime } from '../one-at-a-time.ts'

export type Watching = {
  values: Pick<SharedValues, 'list'>
  sync: Pick<Queues['sync'], 'getDelayed'>
  /** How often to look for pauses that began or ended. */
  lookMs: number
  /** Unix milliseconds. */
  now: () => number
  /** Called at each look for each pause that cannot be read: a newer version wrote it. */
  onUnreadable: (name: string) => void
}

/** Which organizations are paused, as far as this worker knows. */
export type PauseWatch = {
  /** As the queue has it now; while it does not answer, as it was last seen. Never rejects. */
  latest(): Promise<Pauses>
  stop(): void
}

/** How long to wait for an answer of the queue. */
const ANSWER_MS = 1000

/**
 * Looks for changes of the pauses. When one has ended, or this worker begins and knows of none, the jobs that waited for its end start at
 * once.
 */
export function watchPauses({ values, sync, lookMs, now, onUnreadable }: Watching): PauseWatch {
  let known: Pauses = new Map()
  let seen: string | undefined

  async function look(): Promise<void> {
    known = await readPauses(values, onUnreadable)
    const nowMs = now()
    // A pause may end by itself, and earlier than was known when its jobs were put off.
    const text = JSON.stringify([...known].map(([name, stated]) => [name, stated, isPaused(stated, nowMs)]))
    if (text === seen) return
    await releaseJobs(sync, known, nowMs)
    seen = text
  }

  // The queue may be lost; other parts report that, and the next look follows.
  const lookOnce = oneAtATime(() => look().catch(() => {}))
  const timer = setInterval(() => void lookOnce(), lookMs).unref()
  void lookOnce()
  return {
    latest: async () => {
      await within(lookOnce(), ANSWER_MS, undefined)
      return known
    },
    stop: () => clearInterval(timer),
  }
}

/** Starts the jobs that waited for the end of a pause which is over. */
async function releaseJobs(sync: Watching['sync'], pauses: Pauses, nowMs: number): Promise<void> {
  const delayed = await sync.getDelayed()
  const released = delayed.filter(
    (job) => putOffOf(job) !== undefined && pauseOf(pauses, job.data.organization, nowMs) === undefined,
  )
  // Another worker may have been faster.
  await Promise.all(released.map((job) => job.promote().catch(() => {})))
}
