import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createMetrics, overviewFacts, processText, statusMetrics } from '../../jobs/monitoring/metrics.ts'
import type { Pauses } from '../../src/model/pause.ts'
import type { UncountedFreshness } from '../../src/model/mirror.ts'
import { type OverviewFacts, readStandings } from '../../src/status/overview.ts'
import { emptyReport } from '../../src/model/report.ts'
import { START_MS } from './builders.ts'
import { IN_STATES, LOOKED_AT_MS, mirrorAllStates } from './full-mirror.ts'
import { aPlayedMirror, tamper } from './mirror-file.ts'

export function opsFile(name: string): string {
  return readFileSync(new URL(`../../docs/ops/${name}`, import.meta.url), 'utf8')
}

/** A metric as a query names it, with the values of its labels that it asks for. */
type Named = { name: string; labels: { label: string; values: string[] }[] }

export function metricsIn(query: string): Named[] {
  return [...query.matchAll(/\b(customer_mirror_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)(?:=~|!=|=)"([^"]*)"/g)].map(([, label = '', values = '']) => ({
      label,
      values: values.split('|').filter((value) => value !== '' && !value.startsWith('$')),
    })),
  }))
}

export function notThere(named: readonly Named[], families: ReadonlyMap<string, Family>): string[] {
  return named.flatMap(({ name, labels }) => {
    const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
    if (family === undefined) return [name]
    return labels.flatMap(({ label, values }) => {
      // Prometheus adds these to each series.
      if (['job', 'instance'].includes(label)) return []
      const found = family.samples.map((sample) => sample.labels[label])
      if (found.every((value) => value === undefined)) return [`${name}{${label}}`]
      return values.filter((value) => !found.includes(value)).map((value) => `${name}{${label}="${value}"}`)
    })
  })
}

/** Every metric that a worker or `status` writes, with an organization in each state and each thing counted once. */
export async function everyMetric(): Promise<Map<string, Family>> {
  const mirror = await aPlayedMirror(mirrorAllStates)
  tamper(mirror.file, `INSERT INTO retired_organizations VALUES ('late', '2026-01-01 00:00:00.000')`)
  tamper(mirror.file, `UPDATE runs SET reasons = '["shape-changed"]' WHERE organization = 'unproven'`)
  const pauses = new Map([['waiting', { sinceMs: START_MS, untilMs: undefined, resumedMs: undefined }]])
  const counts = { getJobCounts: async () => ({ waiting: 1, active: 1, delayed: 1, completed: 1, failed: 1 }) }
  const queues = Object({ sync: counts, quick: counts })
  const facts = dailyFactsOf(IN_STATES, { pauses, nowMs: LOOKED_AT_MS })
  const { metrics, lines } = metricsOf({ mirror, queues, facts })
  metrics.countRun(aRunOfJob({}, 'fresh'))
  for (const status of [200, 429, 503]) metrics.countAnswer('fresh', { status })
  const texts = [(await lines()).join('\n'), await processText(), await statusMetrics(mirror, facts)]
  return new Map(texts.flatMap((text) => [...readExposition(text)]))
}

/** The end of a run of a job, with these numbers. */
export function aRunOfJob(changes: object = {}, organization = 'acme') {
  const report = { ...emptyReport({ organization, trigger: 'schedule', startedAtMs: START_MS }), ...changes }
  const outcome = { report, error: undefined }
  return { kind: 'sync', outcome, verdict: { kind: 'complete' }, isLast: true } as const
}

const schedule = { cron: '0 2 * * *', timezone: 'Etc/UTC', spreadMs: 0 }
export function dailyFactsOf(ids: readonly string[], { nowMs, pauses }: { nowMs: number; pauses?: Pauses }) {
  return overviewFacts(
    ids.map((id) => ({ id, schedule })),
    { nowMs, pauses, monotonicMs: 0 },
  )
}

export type Family = { type: string; help: string; samples: Sample[] }
type Sample = { name: string; labels: Record<string, string>; value: number }

/** Reads the text format of Prometheus (version 0.0.4), as prom-client writes it. Whether it keeps its rules, promtool says. */
export function readExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>()
  let family: Family = { type: '', help: '', samples: [] }
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    const [, sample = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (kind === 'HELP') families.set(name, (family = { type: '', help: rest, samples: [] }))
    else if (kind === 'TYPE') family.type = rest
    else {
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', of = '']) => [label, of])
      family.samples.push({ name: sample, labels: Object.fromEntries(pairs), value: Number(value) })
    }
  }
  return families
}

/** The freshness of an organization that was read and proven then. */
export function aFreshness(organization: string, atMs: number): UncountedFreshness {
  return {
    ...{ organization, readAsOfMs: atMs, provenAsOfMs: atMs, lastRunId: 1, held: 0, openRejects: 0 },
    ...({ proof: 'proven', lastStatus: 'complete', lastFullStatus: 'complete' } as const),
    ...{ why: [], readReasons: [], retiredAtMs: undefined },
  }
}

/** What the metrics of a worker are made of, where a test does not say. */
export const NO_RUNS = {
  listUncountedFreshness: async (): Promise<UncountedFreshness[]> => [],
  listHeldRemovals: async () => [],
  listUnderway: async () => [],
  listLatestRuns: async () => [],
}

const NO_JOBS = { getJobCounts: async () => ({}) }

type Looked = {
  freshness?: UncountedFreshness[]
  mirror?: Parameters<typeof readStandings>[0]
  queues?: Parameters<typeof createMetrics>[0]
  facts?: OverviewFacts
}

/** The metrics of a worker of the organization acme, and how a test asks for their lines. */
export function metricsOf({
  freshness = [],
  mirror = { ...NO_RUNS, listUncountedFreshness: async () => freshness },
  queues = Object({ sync: NO_JOBS, quick: NO_JOBS }),
  facts = overviewFacts([{ id: 'acme', schedule: undefined }], { nowMs: 0, monotonicMs: 0 }),
}: Looked = {}) {
  const metrics = createMetrics(queues)
  const lines = async () => {
    const scraped = { ...facts, ready: true, queueUp: true, standings: await readStandings(mirror, facts) }
    return (await metrics.text(scraped)).split('\n')
  }
  return { metrics, lines }
}

/** Where .ci/run puts the program of Debian's package. */
const CACHED = fileURLToPath(new URL('../../node_modules/.cache/promtool/usr/bin/promtool', import.meta.url))

export const PROMTOOL = [CACHED, 'promtool'].find((file) => spawnSync(file, ['--version']).status === 0)

/** What promtool has to complain of; '' if nothing. */
export function promtool(args: readonly string[], input = ''): string {
  if (PROMTOOL === undefined) return ''
  const { status, stdout, stderr } = spawnSync(PROMTOOL, args, { input, encoding: 'utf8' })
  return status === 0 ? '' : `ended with ${status}: ${stdout}${stderr}`
}
