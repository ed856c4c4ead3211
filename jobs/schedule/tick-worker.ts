import type { Mirror } from '../../src/store.ts'
import type { Job } from 'bullmq'
import type { Organization } from '../../src/config/organization.ts'
import { delayWhileUnknown, type Knowing } from '../configuration/delay-while-unknown.ts'
import type { Backend } from '../queue/backend.ts'
import { nextTickMs, startDelayMs } from './due-times.ts'
import { quickSchedule } from './quick-times.ts'
import { isOpenAt } from './run-hours.ts'
import { QUICK_TICK } from './reconcile.ts'
import { wasReadSince } from './schedule-plan.ts'
import { payload, type Counts, type Payload, type Queues } from '../queue/queues.ts'
import type { Timings } from '../timings.ts'
import { createQueueWorker } from '../queue/queue-worker.ts'

export type TickWorker = ReturnType<typeof startTickWorker>

export type Ticking = {
  queues: Pick<Queues, 'requestSync' | 'requestQuick'>
  mirror: Pick<Mirror, 'listLastRuns'>
  timings: Pick<Timings, 'leftJobsMs' | 'lockMs'>
  now: () => number
} & Omit<Knowing, keyof typeof MOST_UNKNOWN>

/**
 * A tick that is lost after so many looks is made up for by the comparison of schedules. An organization that is gone has no schedule for
 * long.
 */
const MOST_UNKNOWN = { mostStarts: 10, mostStartsIfGone: 1 }

/**
 * Starts turning ticks into sync jobs and quick jobs. A tick only adds a job, so a long run never delays the next tick; and while an
 * organization has such a job, its ticks add nothing.
 */
export function startTickWorker(backend: Backend, ticking: Ticking) {
  const { queues, mirror, organizationOf, timings, now } = ticking
  return createQueueWorker(
    backend,
    'tick',
    async (tick, token) => {
      const { organization } = payload.parse(tick.data)
      const isQuick = tick.name === QUICK_TICK
      await delayWhileUnknown(tick, token, { ...ticking, ...MOST_UNKNOWN }, (known) =>
        isQuick ? known?.schedule?.quick !== undefined : known?.schedule !== undefined,
      )
      const schedule = organizationOf(organization)?.schedule
      if (isQuick) return requestQuickRun(tick, schedule, { queues, now })
      if (schedule === undefined) return { added: 0 }
      const delayMs = startDelayMs(organization, schedule)
      const startMs = tickedMs(tick) + delayMs
      const isDue = isOpenAt(schedule, startMs)
      if (!isDue || (await isDone(organization, startMs, mirror, now()))) return { added: 0 }
      const { added } = await queues.requestSync(organization, 'schedule', {
        delayMs: untilStart(startMs, delayMs, now()),
      })
      return { added: Number(added) }
    },
    {
      timings,
      now,
      settings: { repeatStrategy: nextTickMs },
    },
  )
}

async function requestQuickRun(
  tick: Job<Payload>,
  schedule: Organization['schedule'],
  { queues, now }: Pick<Ticking, 'queues' | 'now'>,
): Promise<Counts> {
  const quick = schedule && quickSchedule(schedule)
  if (quick === undefined) return { added: 0 }
  const { organization } = tick.data
  const wholeMs = startDelayMs(organization, quick)
  const delayMs = untilStart(tickedMs(tick) + wholeMs, wholeMs, now())
  if (!isOpenAt(quick, now() + delayMs)) return { added: 0 }
  const { added } = await queues.requestQuick(organization, 'schedule', { delayMs })
  return { added: Number(added) }
}

/** Whether the run of a start was already made by a worker that caught up before. Where the mirror cannot be read, the run is made, and reports that. */
async function isDone(
  organization: string,
  startMs: number,
  mirror: Ticking['mirror'],
  nowMs: number,
): Promise<boolean> {
  const [lastRun] = await mirror.listLastRuns({ organization }).catch(() => [])
  return wasReadSince(startMs, lastRun, nowMs)
}

/** What is left of a delay: it may be that no worker took the tick for long. The clock may have been set back. */
function untilStart(startMs: number, delayMs: number, nowMs: number): number {
  return Math.min(delayMs, Math.max(0, startMs - nowMs))
}

/** The moment of its cron line. */
function tickedMs(tick: Job): number {
  return tick.opts.prevMillis ?? tick.timestamp
}
