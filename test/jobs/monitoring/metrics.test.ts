import { expect, test } from 'vitest'
import { watched } from '../../../jobs/monitoring/endpoints.ts'
import { processText } from '../../../jobs/monitoring/metrics.ts'
import { COMMIT, PROGRAM_VERSION } from '../../../src/machine/version.ts'
import { START_MS } from '../../support/builders.ts'
import { NO_RUNS, aFreshness, aRunOfJob, dailyFactsOf, metricsOf, promtool } from '../../support/metrics.ts'
import { tamper } from '../../support/mirror-file.ts'
import { message, aWorkerOf } from '../../support/worker-log.ts'

test('a scrape of a thousand organizations that have run is below a megabyte', async () => {
  const ids = Array.from({ length: 1000 }, (_, number) => `organization-${String(number).padStart(4, '0')}`)
  const freshness = ids.map((id) => aFreshness(id, START_MS))
  const { metrics, lines } = metricsOf({ freshness, facts: dailyFactsOf(ids, { nowMs: START_MS }) })
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
  const facts = dailyFactsOf(['acme', 'globex', 'never'], { nowMs: START_MS })
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
  const facts = async () => dailyFactsOf(['acme'], { nowMs: START_MS })
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

test('a worker is alive, ready after every organization is mirrored, and counts its work', async () => {
  const paris = { cron: '0 2 * * *', timezone: 'Europe/Paris' }
  const settings = { schedule: paris, timings: { catchUpMs: 60_000 } }
  const { place, worker } = await aWorkerOf({ customers: [250] }, settings)
  const { http: origin = '' } = await worker.said(message('worker started'))
  await worker.ran('acme')
  const ready = { status: 200, text: '{"ready":true,"problems":[],"held":[]}' }
  await expect.poll(() => ask(`${origin}/readyz`)).toEqual(ready)
  const metrics = await ask(`${origin}/metrics`)
  tamper(place.mirror, `UPDATE runs SET read_as_of = '2001-01-01 00:00:00'`)
  const stale = await ask(`${origin}/readyz`)

  expect(await ask(`${origin}/healthz`)).toMatchObject({ status: 200, text: '{"alive":true}' })
  expect(metrics.text.split('\n')).toEqual(
    expect.arrayContaining([
      ...[
        'runs_total{organization="acme",outcome="complete"} 1',
        'runs_total{organization="acme",outcome="give-up"} 0',
        'pages_total 3',
        'customers_total{change="received"} 250',
        'customers_total{change="inserted"} 250',
        'customers_total{change="updated"} 0',
        'customers_total{change="removed"} 0',
        'requests_total{organization="acme",status="2xx"} 3',
        'throttled_total{organization="acme"} 0',
        'waited_seconds_total 0',
        'run_duration_seconds_count 1',
        'open_rejects{organization="acme"} 0',
        'held_removals{organization="acme"} 0',
        'jobs{queue="sync",state="completed"} 1',
        'ready 1',
        'queue_up 1',
        'jobs_taken_over_total 0',
        'standing{organization="acme",state="fresh"} 1',
        `build_info{version="${PROGRAM_VERSION}",commit="${COMMIT ?? ''}",node="${process.version}"} 1`,
      ].map((line) => `customer_mirror_${line}`),
      expect.stringMatching(/^customer_mirror_last_success_timestamp_seconds\{organization="acme"\} 1\d{9}\.?\d*$/),
      expect.stringMatching(/^customer_mirror_next_due_timestamp_seconds\{organization="acme"\} 1\d{9}$/),
      expect.stringMatching(/^customer_mirror_process_resident_memory_bytes \d+$/),
    ]),
  )
  expect(promtool(['check', 'metrics'], metrics.text)).toBe('')
  expect(await ask(`${origin}/`)).toMatchObject({ status: 200, text: expect.stringContaining('<h3>acme</h3>') })
  expect(await ask(`${origin}/runs/1`)).toMatchObject({ status: 200, text: expect.stringContaining('Run #1 of acme') })
  expect(stale).toMatchObject({ status: 503, text: expect.stringContaining('acme: was due at') })
})

test('a worker whose configuration schedules nothing says so at once, in the log, on the page and in /readyz', async () => {
  const { worker } = await aWorkerOf({ customers: [3] }, { schedule: undefined })
  const said = await worker.said(({ msg }) => msg.startsWith('the configuration schedules nothing'))
  const { http: origin = '' } = await worker.said(message('worker started'))

  expect(said).toMatchObject({ level: 'warn' })
  const text = expect.stringContaining('the configuration schedules nothing')
  expect(await ask(`${origin}/readyz`)).toMatchObject({ status: 503, text })
  expect((await ask(`${origin}/`)).text).toContain('The configuration schedules nothing')
})

async function ask(url: string) {
  const response = await fetch(url)
  return { status: response.status, text: await response.text() }
}
