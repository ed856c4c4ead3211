import type { Organization } from '../../src/config/organization.ts'
import { isPaused, pauseOf, type Pauses } from '../../src/pause.ts'
import type { LiveConfig } from '../configuration/live-config.ts'
import { within } from '../queue/deadline.ts'
import { readPauses } from './pauses.ts'
import { putOffOf } from './put-off.ts'
import { isOpenAt, opensAfter } from '../schedule/run-hours.ts'
import type { Queues } from '../queue/queues.ts'
import type { SharedValues } from '../queue/shared-values.ts'
import { oneAtATime } from '../one-at-a-time.ts'

export type Watching = {
  values: Pick<SharedValues, 'list'>
  sync: Pick<Queues['sync'], 'getDelayed'>
  /** The configuration, whose windows may change. */
  config: Pick<LiveConfig, 'reading' | 'organizationOf'>
  /** How often to look for pauses that began or ended, and for another configuration. */
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
 * once; and so do those that waited for a window which another configuration opens sooner.
 */
export function watchPauses({ values, sync, config, lookMs, now, onUnreadable }: Watching): PauseWatch {
  let known: Pauses = new Map()
  let seen: string | undefined

  async function look(): Promise<void> {
    known = await readPauses(values, onUnreadable)
    const nowMs = now()
    // A pause may end by itself, and earlier than was known when its jobs were put off.
    const stands = [...known].map(([name, stated]) => [name, stated, isPaused(stated, nowMs)])
    const text = JSON.stringify([config.reading.hash, ...stands])
    if (text === seen) return
    await releaseJobs({ sync, config }, known, nowMs)
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

/** Starts the jobs that waited for the end of a pause which is over, or for a window that opens sooner now. */
async function releaseJobs(
  { sync, config }: Pick<Watching, 'sync' | 'config'>,
  pauses: Pauses,
  nowMs: number,
): Promise<void> {
  const delayed = await sync.getDelayed()
  const released = delayed.filter((job) => {
    const { organization } = job.data
    const { why, untilMs } = putOffOf(job) ?? {}
    if (why !== 'pause' && why !== 'window') return false
    if (pauseOf(pauses, organization, nowMs) !== undefined) return false
    return why === 'pause' || opensSooner(config.organizationOf(organization), untilMs, nowMs)
  })
  // Another worker may have been faster.
  await Promise.all(released.map((job) => job.promote().catch(() => {})))
}

/** Whether runs of an organization may start now, or sooner than then. Another worker may know one that this one does not. */
function opensSooner(organization: Organization | undefined, untilMs: number | undefined, nowMs: number): boolean {
  if (organization === undefined) return false
  const { schedule } = organization
  if (schedule === undefined || isOpenAt(schedule, nowMs)) return true
  const opensMs = opensAfter(schedule, nowMs)
  return opensMs !== undefined && untilMs !== undefined && opensMs < untilMs
}
