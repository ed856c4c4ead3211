import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Config } from '../../src/config/read-config.ts'
import { readStandings, type OrganizationView, type OverviewFacts } from '../../src/page/overview.ts'
import { pauseOf, type Pauses } from '../../src/pause.ts'
import type { UncountedFreshness } from '../../src/store.ts'
import { commit, version } from '../../src/version.ts'
import { checkSchedules } from '../schedule/due-times.ts'
import { dueOutlooks, type Scheduled } from '../schedule/due-outlook.ts'

/** How an organization stands, as the pages show it. */
export type Standing = OrganizationView<UncountedFreshness>

type Moment = {
  /** Absent where the queue, which keeps the pauses, could not be asked. */
  pauses?: Pauses | undefined
  nowMs: number
  monotonicMs: number
}

/** The due times and the pauses of the configured organizations, as the overview shows them. */
export function overviewFacts(
  organizations: readonly Scheduled[],
  { pauses, nowMs, monotonicMs }: Moment,
): OverviewFacts {
  return {
    organizations: organizations.map(({ id }) => id),
    dueOf: dueOutlooks(organizations, nowMs),
    pausedOf: pauses && ((id) => pauseOf(pauses, id, nowMs)),
    nowMs,
    monotonicMs,
  }
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
export const PREFIX = 'customer_mirror_'

export type Meters = ReturnType<typeof metersIn>

/** Makes metrics that belong to a registry. */
export function metersIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[]) =>
      new Histogram({ name: `${PREFIX}${name}`, help, buckets, registers }),
    /** A gauge that is set anew at each scrape. */
    gauge: (name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => Promise<void> | void) =>
      new Gauge({
        name: `${PREFIX}${name}`,
        help,
        labelNames,
        registers,
        collect() {
          this.reset()
          return collect(this)
        },
      }),
  }
}

/**
 * The gauges that a worker and `status --format prometheus` have in common: which version runs, made from which commit where that is known,
 * on which Node; and the organizations. `look` is called for each gauge. The dates of a retired organization stand still, and are left out.
 */
export function measureStandings({ gauge }: Meters, look: () => readonly Standing[]): void {
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
