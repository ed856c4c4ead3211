import type { Config } from '../../src/config/read-config.ts'
import type { LiveConfig } from '../configuration.ts'
import { oneAtATime } from '../queue/deadline.ts'
import type { Queues } from '../queue/queues.ts'
import { nextDueMs, previousDueMs, quickSchedule, type Schedule } from './due-times.ts'

export type DueWatch = { stop(): void }

type Watching = {
  config: Pick<LiveConfig, 'current' | 'hash'>
  queues: Pick<Queues, 'requestSync' | 'requestQuick'>
  /** Unix milliseconds. */
  now: () => number
}

/** The next night of an organization, or its next quick run. */
type Coming = { organization: string; schedule: Schedule; isQuick: boolean; atMs: number }

/** By looking at the clock: no timer fires while the machine sleeps, and the clock may be set. */
const LOOK_MS = 1000

/** A quick run that is later than this is left out: the next one finds the same. */
const LATEST_QUICK_MS = 60_000

/**
 * Puts jobs into the queue when their moments come. Every worker does so from its own configuration: a job is named by its organization
 * and its moment, and the queue takes each name once. Moments at which no worker or no queue was there are found by comparing with the
 * mirror.
 */
export function watchDueTimes({ config, queues, now }: Watching): DueWatch {
  let lookedMs = now()
  let { hash } = config
  let coming = comingFrom(config.current, lookedMs)

  const look = oneAtATime(async () => {
    const nowMs = now()
    if (config.hash !== hash || nowMs < lookedMs) {
      hash = config.hash
      coming = comingFrom(config.current, Math.min(lookedMs, nowMs))
    }
    for (const each of coming) {
      if (each.atMs > nowMs) continue
      await putIntoQueue(each, nowMs)
      each.atMs = nextDueMs(each.organization, each.schedule, nowMs)
    }
    lookedMs = nowMs
  })

  async function putIntoQueue({ organization, schedule, isQuick }: Coming, nowMs: number): Promise<void> {
    // The latest, where the machine slept over several.
    const dueMs = previousDueMs(organization, schedule, nowMs)
    if (!isQuick) await queues.requestSync(organization, 'schedule', { dueMs })
    else if (nowMs - dueMs < LATEST_QUICK_MS) await queues.requestQuick(organization, 'schedule', { dueMs })
  }

  // A queue that is away is asked again at the next look.
  const timer = setInterval(() => void look().catch(() => {}), LOOK_MS)
  return { stop: () => clearInterval(timer) }
}

function comingFrom({ organizations }: Pick<Config, 'organizations'>, fromMs: number): Coming[] {
  return organizations.flatMap(({ id: organization, schedule }) => {
    if (schedule === undefined) return []
    const quick = quickSchedule(schedule)
    return [
      { organization, schedule, isQuick: false, atMs: nextDueMs(organization, schedule, fromMs) },
      ...(quick === undefined
        ? []
        : [{ organization, schedule: quick, isQuick: true, atMs: nextDueMs(organization, quick, fromMs) }]),
    ]
  })
}
