import type { Freshness, Mirror } from '../../src/store.ts'
import type { Report } from '../../src/report.ts'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { within } from '../queue/deadline.ts'
import { QUICK_ENDS, type EndOfQuickRun } from '../run/end-of-quick-run.ts'
import type { RunOfJob } from '../run/sync-job.ts'
import type { Verdict } from '../run/outcome.ts'
import type { Queues } from '../queue/queues.ts'

export type Metrics = {
  countRun(run: RunOfJob): void
  countQuickRun(ended: EndOfQuickRun): void
  countAnswer(organization: string, answer: { status: number }): void
  /** In the text format of Prometheus. */
  text(): Promise<string>
}

export type Measured = {
  mirror: Pick<Mirror, 'listFreshness'>
  queues: Pick<Queues, 'tick' | 'sync' | 'quick'>
  /** Ids of the organizations configured now. */
  organizations: () => readonly string[]
  now: () => number
}

const PREFIX = 'customer_mirror'
/** How long a scrape waits for a queue that may be gone. */
const COUNT_MS = 1000

/** The metrics of this worker for Prometheus. Ages and counts of jobs are looked up at each scrape. */
export function createMetrics({ mirror, queues, organizations, now }: Measured): Metrics {
  const registry = new Registry()
  const meters = metersIn(registry)
  const { runs, quickRuns, ...counters } = countersIn(meters)
  const freshness = measureFreshness(meters, now)
  measureJobs(meters, queues)
  // The age of an organization that left the configuration, or is retired, would grow for ever.
  const configuredFreshness = async () =>
    (await mirror.listFreshness()).filter(
      ({ organization, retiredAtMs }) => retiredAtMs === undefined && organizations().includes(organization),
    )

  const countWork = (organization: string, report: Report) => {
    counters.pages.inc({ organization }, report.pages)
    for (const change of CHANGES) counters.customers.inc({ organization, change }, report[change])
    counters.throttled.inc({ organization }, report.throttled)
    counters.waited.inc({ organization }, seconds(report.waitedMs))
  }

  return {
    countRun({ organization, outcome: { report }, verdict }) {
      runs.inc({ organization, outcome: verdict.kind })
      countWork(organization, report)
      counters.took.observe({ organization }, seconds(report.durationMs))
    },
    countQuickRun(ended) {
      quickRuns.inc({ organization: ended.organization, outcome: ended.end })
      if (ended.end !== 'skipped') countWork(ended.organization, ended.outcome.report)
    },
    countAnswer(organization, { status }) {
      counters.requests.inc({ organization, status: `${Math.floor(status / 100)}xx` })
    },
    text() {
      freshness.take(configuredFreshness())
      // Prometheus sees the first event only as an increase from 0, so counters start at 0.
      for (const organization of organizations()) {
        for (const outcome of OUTCOMES) runs.inc({ organization, outcome }, 0)
        for (const outcome of QUICK_ENDS) quickRuns.inc({ organization, outcome }, 0)
      }
      return registry.metrics()
    },
  }
}

type Meters = ReturnType<typeof metersIn>

function metersIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `${PREFIX}_${name}_total`, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: string[], buckets: number[]) =>
      new Histogram({ name: `${PREFIX}_${name}`, help, labelNames, buckets, registers }),
    gauge: (name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => Promise<void>) =>
      new Gauge({
        name: `${PREFIX}_${name}`,
        help,
        labelNames,
        registers,
        collect() {
          return collect(this)
        },
      }),
  }
}

function countersIn({ counter, histogram }: Meters) {
  return {
    runs: counter('runs', 'Runs, by the outcome of their job', ['organization', 'outcome']),
    quickRuns: counter('quick_runs', 'Quick runs between two nights, by their end', ['organization', 'outcome']),
    pages: counter('pages', 'Pages saved', ['organization']),
    customers: counter('customers', 'Records, by result', ['organization', 'change']),
    requests: counter('requests', 'Answers of the service, by class of status', ['organization', 'status']),
    throttled: counter('throttled', 'Answers that asked to slow down', ['organization']),
    waited: counter('waited_seconds', 'Seconds waited inside runs because the service asked', ['organization']),
    took: histogram('run_duration_seconds', 'How long runs take', ['organization'], RUN_SECONDS),
  }
}

const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 3600, 14_400]

/** Gauges of the mirror, looked up once for each scrape, because the look-up counts customers. */
function measureFreshness({ gauge }: Meters, now: () => number): { take(looking: Promise<Freshness[]>): void } {
  let looked: Promise<Freshness[]> = Promise.resolve([])
  const measure = (name: string, help: string, valueOf: (fresh: Freshness) => number | undefined) =>
    gauge(name, help, ['organization'], async (values) => {
      values.reset()
      for (const fresh of await looked) {
        const value = valueOf(fresh)
        if (value !== undefined) values.set({ organization: fresh.organization }, value)
      }
    })
  const ageSeconds = (asOfMs: number | undefined) => (asOfMs === undefined ? undefined : (now() - asOfMs) / 1000)

  measure('read_as_of_age_seconds', 'Age of the last run that read the list to its end', ({ readAsOfMs }) =>
    ageSeconds(readAsOfMs),
  )
  measure('proven_as_of_age_seconds', 'Age of the last run whose scan is proven or settled', ({ provenAsOfMs }) =>
    ageSeconds(provenAsOfMs),
  )
  measure('data_as_of_age_seconds', 'Age of the data in the mirror', ({ dataAsOfMs }) => ageSeconds(dataAsOfMs))
  measure('open_rejects', 'Records that could not be kept as customers', ({ openRejects }) => openRejects)
  measure('held_removals', 'Removals held back that wait to be approved or discarded', ({ held }) => held)
  return {
    take(looking) {
      looked = looking
    },
  }
}

function measureJobs({ gauge }: Meters, queues: Measured['queues']): void {
  gauge('jobs', 'Jobs in the queue', ['queue', 'state'], async (jobs) => {
    jobs.reset()
    const counted = [
      ['tick', queues.tick.getJobCounts()],
      ['sync', queues.sync.getJobCounts()],
      ['quick', queues.quick.getJobCounts()],
    ] as const
    for (const [queue, counting] of counted) {
      const counts = await within(counting, COUNT_MS, {}).catch(() => ({}))
      for (const [state, count] of Object.entries(counts)) jobs.set({ queue, state }, count)
    }
  })
}

/** Seconds, never negative: a run measured by a clock that was set back may have a negative duration. */
function seconds(ms: number): number {
  return Number.isFinite(ms) ? Math.max(0, ms) / 1000 : 0
}

const OUTCOMES = ['complete', 'wait', 'retry', 'give-up', 'hand-back', 'abandon'] as const satisfies Verdict['kind'][]

const CHANGES = [
  'received',
  'inserted',
  'updated',
  'unchanged',
  'duplicates',
  'rejected',
  'suppressed',
  'removed',
  'returned',
] as const
