import { expect, test } from 'vitest'
import { watched } from '../../../jobs/monitoring/endpoints.ts'
import { overviewFacts, processText } from '../../../jobs/monitoring/metrics.ts'
import { emptyReport } from '../../../src/model/report.ts'
import { START_MS } from '../../support/builders.ts'
import { aFreshness, metricsOf, NO_RUNS } from '../../support/metrics.ts'

const schedule = { cron: '0 2 * * *', timezone: 'Etc/UTC', spreadMs: 0 }
const factsOf = (ids: readonly string[], nowMs: number) =>
  overviewFacts(
    ids.map((id) => ({ id, schedule })),
    { nowMs, monotonicMs: 0 },
  )

test('a run measured by a clock that was set back is counted', async () => {
  const { metrics, lines } = metricsOf()
  for (const ms of [-3_600_000, NaN, -Infinity]) metrics.countRun(aRunOfJob({ durationMs: ms, waitedMs: ms }))

  expect(await lines()).toContain('customer_mirror_run_duration_seconds_count 3')
})

test('a scrape of a thousand organizations that have run is below a megabyte', async () => {
  const ids = Array.from({ length: 1000 }, (_, number) => `organization-${String(number).padStart(4, '0')}`)
  const freshness = ids.map((id) => aFreshness(id, START_MS))
  const { metrics, lines } = metricsOf({ freshness, facts: factsOf(ids, START_MS) })
  for (const id of ids) {
    metrics.countRun(aRunOfJob({ pages: 3, received: 250, inserted: 250 }, id))
    metrics.countSkipped()
    for (const status of [200, 503]) metrics.countAnswer(id, { status })
  }

  expect(`${(await lines()).join('\n')}${await processText()}`.length).toBeLessThan(1_000_000)
})

test('a retired organization has no dates and raises no alert', async () => {
  const retired = { ...aFreshness('acme', START_MS - 90 * 86_400_000), retiredAtMs: START_MS }
  const lines = await metricsOf({ freshness: [retired] }).lines()

  expect(lines.filter((line) => line.includes('organization="acme"') && !line.includes('_total{'))).toEqual([
    'customer_mirror_standing{organization="acme",state="retired"} 1',
  ])
})

test('each organization has its dates as moments, and a date that is none is left out', async () => {
  const acme = { ...aFreshness('acme', START_MS), provenAsOfMs: START_MS - 5000 }
  const globex = { ...aFreshness('globex', START_MS), provenAsOfMs: undefined, held: 2138 }
  const facts = factsOf(['acme', 'globex', 'never'], START_MS)
  const lines = await metricsOf({ freshness: [acme, globex], facts }).lines()

  expect(lines.filter((line) => /^customer_mirror_(last_\w+|held_removals)\{/.test(line))).toEqual([
    `customer_mirror_last_success_timestamp_seconds{organization="acme"} ${START_MS / 1000}`,
    `customer_mirror_last_success_timestamp_seconds{organization="globex"} ${START_MS / 1000}`,
    `customer_mirror_last_proven_timestamp_seconds{organization="acme"} ${START_MS / 1000 - 5}`,
    'customer_mirror_held_removals{organization="acme"} 0',
    'customer_mirror_held_removals{organization="globex"} 2138',
  ])
  expect(lines).toContain('customer_mirror_standing{organization="never",state="never"} 1')
})

test('a mirror that cannot be read is said, as is a queue that is away, and the process is measured all the same', async () => {
  const away = () => Promise.reject(new Error('away'))
  const { metrics } = metricsOf()
  metrics.countRun(aRunOfJob())
  const facts = async () => factsOf(['acme'], START_MS)
  const worker = watched({
    ...{ metrics, backend: { write: away }, others: { problem: () => undefined }, runners: [] },
    config: Object({ current: { organizations: [] } }),
    looking: { facts, mirror: Object({ ...NO_RUNS, listUncountedFreshness: away }) },
  })
  const lines = (await worker.metrics()).split('\n')

  expect(lines).toEqual(
    expect.arrayContaining([
      'customer_mirror_ready 0',
      'customer_mirror_queue_up 0',
      'customer_mirror_runs_total{organization="acme",outcome="complete"} 1',
      expect.stringMatching(/^customer_mirror_process_cpu_seconds_total [\d.e-]+$/),
      expect.stringMatching(/^# TYPE customer_mirror_nodejs_eventloop_lag_p99_seconds gauge$/),
    ]),
  )
  expect(lines.filter((line) => /^customer_mirror_\w+\{organization/.test(line))).not.toEqual([])
})

function aRunOfJob(changes: object = {}, organization = 'acme') {
  const report = { ...emptyReport({ organization, trigger: 'sync', startedAtMs: START_MS }), ...changes }
  return {
    organization,
    kind: 'sync',
    outcome: { report, error: undefined },
    verdict: { kind: 'complete' },
    isLast: true,
  } as const
}
