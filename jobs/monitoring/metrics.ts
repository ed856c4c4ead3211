import { setImmediate as nextTurn } from 'node:timers/promises'
import { Registry } from 'prom-client'
import type { Pauses } from '../../src/pause.ts'
import { readStandings } from '../../src/page/overview.ts'
import { within } from '../queue/deadline.ts'
import type { Queues } from '../queue/queues.ts'
import type { Scheduled } from '../schedule/due-outlook.ts'
import { countersIn, type Counting } from './counters.ts'
import { metersIn, type Meters } from './meters.ts'
import { overviewFacts } from './overview-facts.ts'
import { measureAges, measureBuild, measureStandings, type Standing } from './organization-gauges.ts'

export type Metrics = Counting & {
  /** In the text format of Prometheus. */
  text(health: Health): Promise<string>
}

/** Whether the worker is ready, as `/readyz` answers, and whether its queue can be written. */
type Health = { ready: boolean; queueUp: boolean }

export type Measured = {
  mirror: Parameters<typeof readStandings>[0]
  queues: Pick<Queues, 'sync' | 'quick'>
  /** The organizations configured now. */
  organizations: () => readonly Scheduled[]
  /** Which organizations are paused. Never rejects. */
  pauses?: () => Promise<Pauses>
  now: () => number
  monotonicMs: () => number
}

/** The metrics of this worker for Prometheus. What the mirror and the queue hold is looked up once for each scrape. */
export function createMetrics({ mirror, queues, organizations, pauses, now, monotonicMs }: Measured): Metrics {
  const registry = new Registry()
  const meters = metersIn(registry)
  const counters = countersIn(meters)
  let standings: readonly Standing[] = []
  let health: Health = { ready: false, queueUp: false }
  measureBuild(meters)
  measureHealth(meters, () => health)
  measureStandings(meters, () => standings)
  measureAges(meters, () => standings, now)
  measureJobs(meters, { queues, look: () => health })

  const look = async () => {
    const moment = { pauses: await pauses?.(), nowMs: now(), monotonicMs: monotonicMs() }
    return readStandings(mirror, overviewFacts(organizations(), moment))
  }

  return {
    ...counters,
    async text(found) {
      health = found
      // While the mirror cannot be read, `ready` is 0; all other metrics are still worth having.
      standings = await look().catch(() => [])
      counters.keepOnly(organizations().map(({ id }) => id))
      return textOf(registry)
    },
  }
}

/** All metrics, one in each turn of the event loop: with a thousand organizations there are some thousand lines of each. */
async function textOf(registry: Registry): Promise<string> {
  const texts: string[] = []
  for (const { name } of registry.getMetricsAsArray()) {
    await nextTurn()
    texts.push(await registry.getSingleMetricAsString(name))
  }
  return `${texts.join('\n\n')}\n`
}

function measureHealth({ gauge }: Meters, look: () => Health): void {
  gauge('ready', '1 while the worker does its work, as /readyz answers', [], (value) => value.set(Number(look().ready)))
  gauge('queue_up', '1 while the queue can be written', [], (value) => value.set(Number(look().queueUp)))
}

/** How long a scrape waits for a queue that may be gone. */
const COUNT_MS = 1000

function measureJobs({ gauge }: Meters, { queues, look }: { queues: Measured['queues']; look: () => Health }): void {
  gauge('jobs', 'Jobs in the queue', ['queue', 'state'], async (jobs) => {
    if (!look().queueUp) return
    const counting = (['sync', 'quick'] as const).map(async (queue) => {
      const counts = await within(queues[queue].getJobCounts(), COUNT_MS, {}).catch(() => ({}))
      for (const [state, count] of Object.entries(counts)) jobs.set({ queue, state }, count)
    })
    await Promise.all(counting)
  })
}
