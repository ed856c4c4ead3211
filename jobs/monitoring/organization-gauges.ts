import type { OrganizationView } from '../../src/page/overview.ts'
import type { UncountedFreshness } from '../../src/store.ts'
import { commit, version } from '../../src/version.ts'
import type { Meters } from './meters.ts'

/** How an organization stands, as the pages show it. */
export type Standing = OrganizationView<UncountedFreshness>

/** The gauges of organizations that a worker and `status --format prometheus` have in common. `look` is called for each of them. */
export function measureStandings({ gauge }: Meters, look: () => readonly Standing[]): void {
  const measure = (name: string, help: string, valueOf: (standing: Standing) => number | undefined) =>
    measureEach({ gauge }, { name, help, look, valueOf })

  measure('last_success_timestamp_seconds', 'When the last run began that read the list to its end', (each) =>
    unixSeconds(notRetired(each)?.readAsOfMs),
  )
  measure('last_proven_timestamp_seconds', 'When the last run began whose scan is proven or settled', (each) =>
    unixSeconds(notRetired(each)?.provenAsOfMs),
  )
  measure('next_due_timestamp_seconds', 'When the next full run is due by the schedule', ({ due }) =>
    unixSeconds(due?.nextMs),
  )
  measure('open_rejects', 'Records that could not be kept as customers', (each) => notRetired(each)?.openRejects)
  measure('held_removals', 'Removals held back that wait to be approved or discarded', (each) => notRetired(each)?.held)
  const help = '1 for each state that is true of an organization, as the page of the worker names it'
  gauge('standing', help, ['organization', 'state'], (values) => {
    for (const { organization, standing } of look())
      for (const state of standing.states) values.set({ organization, state }, 1)
  })
}

/** The ages of a worker's organizations. Only for a scrape: in a file they would be wrong a moment later. */
export function measureAges({ gauge }: Meters, look: () => readonly Standing[], now: () => number): void {
  const measure = (name: string, help: string, asOfMs: (freshness: UncountedFreshness) => number | undefined) =>
    measureEach({ gauge }, { name, help, look, valueOf: (each) => ageSeconds(asOfMs, notRetired(each)) })
  const ageSeconds = (
    asOfMs: (freshness: UncountedFreshness) => number | undefined,
    freshness: UncountedFreshness | undefined,
  ) => {
    const sinceMs = freshness && asOfMs(freshness)
    return sinceMs === undefined ? undefined : (now() - sinceMs) / 1000
  }

  measure('read_as_of_age_seconds', 'Age of the last run that read the list to its end', (each) => each.readAsOfMs)
  measure(
    'proven_as_of_age_seconds',
    'Age of the last run whose scan is proven or settled',
    (each) => each.provenAsOfMs,
  )
}

/** Which version runs, made from which commit where that is known, on which Node. */
export function measureBuild({ gauge }: Meters): void {
  const known = commit()
  const labels = { version: version(), ...(known !== undefined && { commit: known }), node: process.version }
  const help = 'The version of the program, its commit where that is known, and the version of Node'
  gauge('build_info', help, ['version', 'commit', 'node'], (values) => values.set(labels, 1))
}

type Measure = {
  name: string
  help: string
  look: () => readonly Standing[]
  valueOf: (standing: Standing) => number | undefined
}

function measureEach({ gauge }: Pick<Meters, 'gauge'>, { name, help, look, valueOf }: Measure): void {
  gauge(name, help, ['organization'], (values) => {
    for (const standing of look()) {
      const value = valueOf(standing)
      if (value !== undefined) values.set({ organization: standing.organization }, value)
    }
  })
}

/** The dates of an organization that is retired stand still for ever, until its next run. */
function notRetired({ freshness }: Standing): UncountedFreshness | undefined {
  return freshness?.retiredAtMs === undefined ? freshness : undefined
}

function unixSeconds(unixMs: number | undefined): number | undefined {
  return unixMs === undefined ? undefined : unixMs / 1000
}
