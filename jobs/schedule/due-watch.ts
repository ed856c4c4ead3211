import type { LiveConfig } from '../configuration.ts'
import { oneAtATime } from '../queue/deadline.ts'
import type { Queues } from '../queue/queues.ts'
import { previousDueMs, quickSchedule } from './due-times.ts'

type Watching = {
  config: Pick<LiveConfig, 'current'>
  queues: Pick<Queues, 'requestSync' | 'requestQuick'>
  /** Unix milliseconds. */
  now: () => number
}

/** By looking at the clock: no timer fires while the machine sleeps, and the clock may be set. */
const LOOK_MS = 1000

/** A quick run that is later than this is left out: the next one finds the same. */
const LATEST_QUICK_MS = 60_000

/**
 * Puts jobs into the queue when their moments come: those since the last look, and where the machine slept over several, the latest. Every
 * worker does so from its own configuration: a job is named by its organization and its moment, and the queue takes each name once. Moments at
 * which no worker or no queue was there are found by comparing with the mirror.
 */
export function watchDueTimes({ config, queues, now }: Watching): { stop(): void } {
  let lookedMs = now()

  const look = oneAtATime(async () => {
    const nowMs = now()
    lookedMs = Math.min(lookedMs, nowMs)
    for (const { id, schedule } of config.current.organizations) {
      if (schedule === undefined) continue
      const dueMs = previousDueMs(id, schedule, nowMs)
      if (dueMs > lookedMs) await queues.requestSync(id, 'schedule', { dueMs })
      const quick = quickSchedule(schedule)
      const quickMs = quick === undefined ? 0 : previousDueMs(id, quick, nowMs)
      if (quickMs > lookedMs && nowMs - quickMs < LATEST_QUICK_MS)
        await queues.requestQuick(id, 'schedule', { dueMs: quickMs })
    }
    lookedMs = nowMs
  })

  // A queue that is away is asked again at the next look.
  const timer = setInterval(() => void look().catch(() => {}), LOOK_MS)
  return { stop: () => clearInterval(timer) }
}
