import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { type Configured, type OrganizationView, type OverviewFacts, readStandings } from '../../src/status/overview.ts'
import { type Pauses, pauseOf } from '../../src/model/pause.ts'
import { COUNTED } from '../../src/model/report.ts'
import { COMMIT, PROGRAM_VERSION } from '../../src/machine/version.ts'
import { STATES, type Wait } from '../../src/status/standing.ts'
import { within } from '../../src/machine/timers.ts'
import { KINDS, OPTIONAL_ANSWER_MS, RUN_KINDS, type RunKind } from '../queue/port.ts'
import { type Queues } from '../queue/queues.ts'
import type { RunOfJob } from '../run-job.ts'
import { type Scheduled, dueOutlook } from '../schedule/due-runs.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** What is known at a moment beside the mirror. Pauses and waits are absent where the queue, which keeps them, could not be asked. */
type Moment = Omit<OverviewFacts, 'organizations'> & { pauses?: Pauses | undefined; waits?: Waits | undefined }
type Waits = ReadonlyMap<string, Wait | undefined>

/** What a scrape shows beside what was counted: readiness as `/readyz` answers, whether the queue can be written, how organizations stand. */
type Scraped = Pick<OverviewFacts, 'organizations'> & {
  ready: boolean
  queueUp: boolean
  standings: OrganizationView[]
}

/** The metrics of this worker. What the queue holds is looked up once for each scrape. */
export function createMetrics(queues: Pick<Queues, RunKind>) {
  const registry = new Registry()
  const counters = countersIn(registry)
  let now: Scraped = { ready: false, queueUp: false, organizations: [], standings: [] }
  gauge(registry, 'ready', '1 while the worker does its work, as /readyz answers', [], () => [[Number(now.ready)]])
  gauge(registry, 'queue_up', '1 while the queue can be written', [], () => [[Number(now.queueUp)]])
  measureStandings(registry, () => now.standings)
  gauge(registry, 'jobs', 'Jobs in the queue', ['queue', 'state'], async () => {
    if (!now.queueUp) return []
    const counting = RUN_KINDS.map(async (queue): Promise<Value[]> => {
      const counts = await within(queues[queue].getJobCounts(), OPTIONAL_ANSWER_MS, {}).catch(() => ({}))
      return Object.entries(counts).map(([state, count]) => [count, { queue, state }])
    })
    return (await Promise.all(counting)).flat()
  })
  return {
    ...counters,
    async text(scraped: Scraped): Promise<string> {
      now = scraped
      counters.begin(now.organizations.map(({ id }) => id))
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

/** The counters of a worker. Few are told apart by organization: a scrape of a thousand is to stay below a megabyte. */
function countersIn(registry: Registry) {
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers: [registry] })
  const runs = counter('runs', 'Runs, by the outcome of their job', ['organization', 'outcome'])
  const requests = counter('requests', 'Answers of the service, by class of status', ['organization', 'status'])
  const throttled = counter('throttled', 'Answers that asked to slow down', ['organization'])
  const quickRuns = counter('quick_runs', 'Quick runs between two nights, by their end', ['outcome'])
  const pages = counter('pages', 'Pages saved', [])
  const customers = counter('customers', 'Records, by result', ['change'])
  const waited = counter('waited_seconds', 'Seconds waited inside runs because the service asked', [])
  const took = new Histogram({
    ...{ name: `${PREFIX}run_duration_seconds`, help: 'How long runs take' },
    ...{ buckets: [1, 5, 15, 60, 300, 900, 3600, 14_400], registers: [registry] },
  })
  const takenOver = counter('jobs_taken_over', 'Jobs whose worker was gone, so that another one took them', [])
  // Prometheus sees the first event only as an increase from 0, so counters start at 0.
  for (const outcome of ['partial', 'skipped', 'stopped', 'failed']) quickRuns.inc({ outcome }, 0)
  for (const change of CHANGES) customers.inc({ change }, 0)
  return {
    begin(organizations: readonly string[]) {
      for (const organization of organizations) {
        throttled.inc({ organization }, 0)
        for (const outcome of ['complete', 'give-up']) runs.inc({ organization, outcome }, 0)
      }
    },
    countRun({ kind, outcome: { report }, verdict }: RunOfJob) {
      if (KINDS[kind].isPartial) quickRuns.inc({ outcome: QUICK_ENDS[verdict.kind] ?? 'stopped' })
      else {
        runs.inc({ organization: report.organization, outcome: verdict.kind })
        took.observe(report.durationMs / 1000)
      }
      pages.inc(report.pages)
      for (const change of CHANGES) customers.inc({ change }, report[change])
      throttled.inc({ organization: report.organization }, report.throttled)
      waited.inc(report.waitedMs / 1000)
    },
    countSkipped: () => quickRuns.inc({ outcome: 'skipped' }),
    countAnswer: (organization: string, { status }: { status: number }) =>
      requests.inc({ organization, status: `${Math.floor(status / 100)}xx` }),
    countTakenOver: () => takenOver.inc(),
  }
}

const QUICK_ENDS: Partial<Record<RunOfJob['verdict']['kind'], string>> = { complete: 'partial', 'give-up': 'failed' }

const CHANGES = [...COUNTED, 'removed'] as const

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

/** The due times and the pauses of the configured organizations, as the overview shows them. */
export function overviewFacts(organizations: readonly Scheduled[], { pauses, waits, nowMs, monotonicMs }: Moment) {
  const facts = organizations.map((organization): Configured => ({
    id: organization.id,
    dueOf: (freshness) => dueOutlook(organization, freshness, { nowMs, pauses }),
    paused: pauses && pauseOf(pauses, organization.id, nowMs),
    wait: waits?.get(organization.id),
  }))
  return { organizations: facts, nowMs, monotonicMs }
}

/** What the mirror says of each organization, for Prometheus on machines without a worker, under the names that a worker uses. */
export async function statusMetrics(mirror: Parameters<typeof readStandings>[0], facts: OverviewFacts) {
  const standings = await readStandings(mirror, facts)
  const registry = new Registry()
  measureStandings(registry, () => standings)
  gauge(registry, 'status_timestamp_seconds', 'When this text was made', [], () => [[facts.nowMs / 1000]])
  return registry.metrics()
}

const PREFIX = 'customer_mirror_'

type Value = [value: number, labels?: Record<string, string>]
type Measure = () => Promise<Value[]> | Value[]

/** Adds a gauge that is measured anew at each scrape. */
function gauge(registry: Registry, name: string, help: string, labelNames: string[], measure: Measure): Gauge {
  return new Gauge({
    ...{ name: `${PREFIX}${name}`, help, labelNames, registers: [registry] },
    async collect() {
      this.reset()
      for (const [value, labels = {}] of await measure()) this.set(labels, value)
    },
  })
}

/** The gauges that a worker and `status --format prometheus` have in common. */
function measureStandings(registry: Registry, look: () => readonly OrganizationView[]): void {
  const build = { version: PROGRAM_VERSION, commit: COMMIT ?? '', node: process.version }
  const ofBuild = 'The version of the program, its commit where that is known, and the version of Node'
  gauge(registry, 'build_info', ofBuild, ['version', 'commit', 'node'], () => [[1, build]])
  for (const [name, help, key] of OF_ORGANIZATIONS)
    gauge(registry, name, help, ['organization'], () =>
      look().flatMap(({ organization, freshness, due }): Value[] => {
        // The dates of a retired organization stand still, and are left out.
        const known = { ...(freshness?.retiredAtMs === undefined && freshness), nextMs: due?.nextMs }
        const value = known[key]
        return value === undefined ? [] : [[key.endsWith('Ms') ? value / 1000 : value, { organization }]]
      }),
    )
  const ofStates = `1 for each state that is true of an organization: ${Object.keys(STATES).join(', ')}`
  gauge(registry, 'standing', ofStates, ['organization', 'state'], () =>
    look().flatMap(({ organization, standing }) => standing.states.map((state): Value => [1, { organization, state }])),
  )
}

/** The gauges of organizations. Moments, which are in milliseconds, are shown in seconds. */
const OF_ORGANIZATIONS = [
  ['last_success_timestamp_seconds', 'When the last run began that read the list to its end', 'readAsOfMs'],
  ['last_proven_timestamp_seconds', 'When the last run began whose scan is proven or settled', 'provenAsOfMs'],
  ['next_due_timestamp_seconds', 'When the next full run is due by the schedule', 'nextMs'],
  ['open_rejects', 'Records that could not be kept as customers', 'openRejects'],
  ['held_removals', 'Removals held back that wait to be approved or discarded', 'held'],
] as const
