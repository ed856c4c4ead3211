import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { Config } from '../../src/config/read-config.ts'
import { type Configured, type OrganizationView, type OverviewFacts, readStandings } from '../../src/status/overview.ts'
import { type Pauses, pauseOf } from '../../src/model/pause.ts'
import type { Report } from '../../src/model/report.ts'
import type { UncountedFreshness } from '../../src/model/mirror.ts'
import { commit, version } from '../../src/machine/version.ts'
import type { Wait } from '../../src/status/standing.ts'
import { within } from '../queue/deadline.ts'
import type { Queues } from '../queue/queues.ts'
import type { EndOfQuickRun, RunOfJob } from '../run/run-for-job.ts'
import { type Scheduled, dueOutlook } from '../schedule/due-runs.ts'
import { checkSchedules } from '../schedule/due-times.ts'

/** What a worker counts, and its metrics for Prometheus. */
export type Metrics = ReturnType<typeof createMetrics>

/** Whether the worker is ready, as `/readyz` answers, and whether its queue can be written. */
type Health = { ready: boolean; queueUp: boolean }

/** What changes from one look to the next beside the mirror. */
export type Clocked = {
  /** Which organizations are paused. Never rejects. */
  pauses?: () => Promise<Pauses>
  /** What the jobs of organizations wait for. Never rejects. */
  waits?: () => Promise<ReadonlyMap<string, Wait>>
  now: () => number
  monotonicMs: () => number
}

export type Measured = Clocked & {
  mirror: Parameters<typeof readStandings>[0]
  /** The organizations configured now. */
  organizations: () => readonly Scheduled[]
  queues: Pick<Queues, 'sync' | 'quick'>
}

/** How long a scrape waits for a queue that may be gone. */
const COUNT_MS = 1000

/** The metrics of this worker. What the mirror and the queue hold is looked up once for each scrape. */
export function createMetrics({ mirror, queues, organizations, ...looking }: Measured) {
  const registry = new Registry()
  const meters = metersIn(registry)
  const { keepOnly, ...counters } = countersIn(meters)
  let standings: readonly Standing[] = []
  let health: Health = { ready: false, queueUp: false }
  const { gauge } = meters
  gauge('ready', '1 while the worker does its work, as /readyz answers', [], (value) => value.set(Number(health.ready)))
  gauge('queue_up', '1 while the queue can be written', [], (value) => value.set(Number(health.queueUp)))
  measureStandings(meters, () => standings)
  gauge('jobs', 'Jobs in the queue', ['queue', 'state'], async (jobs) => {
    if (!health.queueUp) return
    const counting = (['sync', 'quick'] as const).map(async (queue) => {
      const counts = await within(queues[queue].getJobCounts(), COUNT_MS, {}).catch(() => ({}))
      for (const [state, count] of Object.entries(counts)) jobs.set({ queue, state }, count)
    })
    await Promise.all(counting)
  })

  return {
    ...counters,
    /** In the text format of Prometheus. */
    async text(found: Health): Promise<string> {
      health = found
      // While the mirror cannot be read, `ready` is 0; all other metrics are still worth having.
      const facts = overviewFacts(organizations(), await momentOf(looking))
      standings = await readStandings(mirror, facts).catch(() => [])
      keepOnly(organizations().map(({ id }) => id))
      // One in each turn of the event loop: with a thousand organizations there are some thousand lines of each.
      const texts: string[] = []
      for (const { name } of registry.getMetricsAsArray()) {
        await nextTurn()
        texts.push(await registry.getSingleMetricAsString(name))
      }
      return `${texts.join('\n\n')}\n`
    },
  }
}

/**
 * The counters of a worker. Few of them are told apart by organization, since a scrape of a thousand is to stay below a megabyte: the mirror
 * has the numbers of every run. `keepOnly` drops those of organizations that are no longer configured.
 */
function countersIn({ counter, histogram }: Meters) {
  const counters = {
    runs: counter('runs', 'Runs, by the outcome of their job', ['organization', 'outcome']),
    requests: counter('requests', 'Answers of the service, by class of status', ['organization', 'status']),
    throttled: counter('throttled', 'Answers that asked to slow down', ['organization']),
    quickRuns: counter('quick_runs', 'Quick runs between two nights, by their end', ['outcome']),
    pages: counter('pages', 'Pages saved', []),
    customers: counter('customers', 'Records, by result', ['change']),
    waited: counter('waited_seconds', 'Seconds waited inside runs because the service asked', []),
    took: histogram('run_duration_seconds', 'How long runs take', RUN_SECONDS),
    takenOver: counter('jobs_taken_over', 'Jobs whose worker was gone, so that another one took them', []),
  }
  const { runs, requests, throttled, quickRuns } = counters
  const counted = new Set<string>()
  // Prometheus sees the first event only as an increase from 0, so counters start at 0.
  for (const outcome of ['partial', 'skipped', 'stopped', 'failed'] as const satisfies EndOfQuickRun['end'][])
    quickRuns.inc({ outcome }, 0)
  for (const change of CHANGES) counters.customers.inc({ change }, 0)

  const countWork = (organization: string, report: Report) => {
    counted.add(organization)
    counters.pages.inc(report.pages)
    for (const change of CHANGES) counters.customers.inc({ change }, report[change])
    throttled.inc({ organization }, report.throttled)
    counters.waited.inc(seconds(report.waitedMs))
  }
  return {
    countRun({ organization, outcome: { report }, verdict }: RunOfJob) {
      runs.inc({ organization, outcome: verdict.kind })
      countWork(organization, report)
      counters.took.observe(seconds(report.durationMs))
    },
    countQuickRun(ended: EndOfQuickRun) {
      quickRuns.inc({ outcome: ended.end })
      if (ended.end !== 'skipped') countWork(ended.organization, ended.outcome.report)
    },
    countAnswer(organization: string, { status }: { status: number }) {
      counted.add(organization)
      requests.inc({ organization, status: `${Math.floor(status / 100)}xx` })
    },
    /** A job whose worker is gone came to another one. */
    countTakenOver: () => counters.takenOver.inc(),
    keepOnly: (organizations: readonly string[]) => {
      const configured = new Set(organizations)
      for (const organization of counted.difference(configured)) {
        for (const outcome of OUTCOMES) runs.remove({ organization, outcome })
        for (const hundreds of [1, 2, 3, 4, 5]) requests.remove({ organization, status: `${hundreds}xx` })
        throttled.remove({ organization })
        counted.delete(organization)
      }
      for (const organization of organizations) {
        counted.add(organization)
        throttled.inc({ organization }, 0)
        for (const outcome of ['complete', 'give-up']) runs.inc({ organization, outcome }, 0)
      }
    },
  }
}

/** Seconds, never negative: a run measured by a clock that was set back may have a negative duration. */
function seconds(ms: number): number {
  return Number.isFinite(ms) ? Math.max(0, ms) / 1000 : 0
}

const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 3600, 14_400]

const OUTCOMES = [
  'complete',
  'wait',
  'retry',
  'give-up',
  'hand-back',
  'abandon',
] as const satisfies RunOfJob['verdict']['kind'][]

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

/** Gauges that are named like counters. The same figures are there by type, and their sums need no metric. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

let ofProcess: Registry | undefined

/** The CPU and the memory of this process, and how late its event loop is. Once in a process, because what observes it cannot be ended. */
export async function processText(): Promise<string> {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, prefix: PREFIX })
    for (const name of MISNAMED) ofProcess.removeSingleMetric(`${PREFIX}${name}`)
  }
  return ofProcess.metrics()
}

/** How an organization stands, as the pages show it. */
type Standing = OrganizationView<UncountedFreshness>

type Moment = {
  /** Absent where the queue, which keeps the pauses, could not be asked. */
  pauses?: Pauses | undefined
  waits?: ReadonlyMap<string, Wait> | undefined
  nowMs: number
  monotonicMs: number
}

/** What is known at this moment beside the mirror. */
export async function momentOf({ pauses, waits, now, monotonicMs }: Clocked): Promise<Moment> {
  return { pauses: await pauses?.(), waits: await waits?.(), nowMs: now(), monotonicMs: monotonicMs() }
}

/** The due times and the pauses of the configured organizations, as the overview shows them. */
export function overviewFacts(
  organizations: readonly Scheduled[],
  { pauses, waits, nowMs, monotonicMs }: Moment,
): OverviewFacts {
  const facts = organizations.map((organization): Configured => ({
    id: organization.id,
    dueOf: (freshness) => dueOutlook(organization, freshness, nowMs),
    paused: pauses && pauseOf(pauses, organization.id, nowMs),
    wait: waits?.get(organization.id),
  }))
  return { organizations: facts, nowMs, monotonicMs }
}

/**
 * What the mirror says of each organization, for machines without a worker, in the text format of Prometheus and under the names that
 * a worker uses.
 */
export async function statusMetrics(
  mirror: Parameters<typeof readStandings>[0],
  { config, ...moment }: Moment & { config: Config },
): Promise<string> {
  checkSchedules(config, moment.nowMs)
  const standings = await readStandings(mirror, overviewFacts(config.organizations, moment))
  const registry = new Registry()
  const meters = metersIn(registry)
  measureStandings(meters, () => standings)
  meters.gauge('status_timestamp_seconds', 'When this text was made', [], (value) => value.set(moment.nowMs / 1000))
  return registry.metrics()
}

/** What the names of all metrics begin with. */
const PREFIX = 'customer_mirror_'

type Meters = ReturnType<typeof metersIn>

/** Makes metrics that belong to a registry. */
function metersIn(registry: Registry) {
  const named = (name: string, help: string) => ({ name: `${PREFIX}${name}`, help, registers: [registry] })
  return {
    counter: (name: string, help: string, labelNames: string[]) =>
      new Counter({ ...named(`${name}_total`, help), labelNames }),
    histogram: (name: string, help: string, buckets: number[]) => new Histogram({ ...named(name, help), buckets }),
    /** A gauge that is set anew at each scrape. */
    gauge: (name: string, help: string, labelNames: string[], set: (gauge: Gauge) => Promise<void> | void) =>
      new Gauge({
        ...{ ...named(name, help), labelNames },
        collect() {
          this.reset()
          return set(this)
        },
      }),
  }
}

/**
 * The gauges that a worker and `status --format prometheus` have in common: which version runs, made from which commit where that is known,
 * on which Node; and the organizations. `look` is called for each gauge. The dates of a retired organization stand still, and are left out.
 */
function measureStandings({ gauge }: Meters, look: () => readonly Standing[]): void {
  const known = commit()
  const labels = { version: version(), ...(known !== undefined && { commit: known }), node: process.version }
  const ofBuild = 'The version of the program, its commit where that is known, and the version of Node'
  gauge('build_info', ofBuild, ['version', 'commit', 'node'], (values) => values.set(labels, 1))

  const measure = (name: string, help: string, valueOf: (standing: Standing) => number | undefined) =>
    gauge(name, help, ['organization'], (values) => {
      for (const standing of look()) {
        const value = valueOf(standing)
        if (value !== undefined) values.set({ organization: standing.organization }, value)
      }
    })
  const current = ({ freshness }: Standing) => (freshness?.retiredAtMs === undefined ? freshness : undefined)
  measure('last_success_timestamp_seconds', 'When the last run began that read the list to its end', (each) =>
    unixSeconds(current(each)?.readAsOfMs),
  )
  measure('last_proven_timestamp_seconds', 'When the last run began whose scan is proven or settled', (each) =>
    unixSeconds(current(each)?.provenAsOfMs),
  )
  measure('next_due_timestamp_seconds', 'When the next full run is due by the schedule', ({ due }) =>
    unixSeconds(due?.nextMs),
  )
  measure('open_rejects', 'Records that could not be kept as customers', (each) => current(each)?.openRejects)
  measure('held_removals', 'Removals held back that wait to be approved or discarded', (each) => current(each)?.held)
  const help = '1 for each state that is true of an organization, as the page of the worker names it'
  gauge('standing', help, ['organization', 'state'], (values) => {
    for (const { organization, standing } of look())
      for (const state of standing.states) values.set({ organization, state }, 1)
  })
}

function unixSeconds(unixMs: number | undefined): number | undefined {
  return unixMs === undefined ? undefined : unixMs / 1000
}
