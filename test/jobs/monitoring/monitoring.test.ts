import { expect, test } from 'vitest'
import { commit, version } from '../../../src/machine/version.ts'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { metricsIn, opsFile, promtool, readExposition } from '../../support/metrics.ts'
import { tamper } from '../../support/mirror-file.ts'
import { message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('a worker is alive, ready after every organization is mirrored, and counts its work', async () => {
  const schedule = { cron: '0 2 * * *', timezone: 'Europe/Paris' }
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [250] })), { schedule })
  const worker = startWorker(place, { timings: { catchUpMs: 60_000 } })
  const { http: origin = '' } = await worker.said(message('worker started'))
  await worker.ran('acme')
  const ready = await eventually(
    () => ask(`${origin}/readyz`),
    ({ status }) => status === 200,
  )
  const metrics = await ask(`${origin}/metrics`)
  tamper(place.mirror, `UPDATE runs SET read_as_of = '2001-01-01 00:00:00'`)
  const stale = await ask(`${origin}/readyz`)

  expect(await ask(`${origin}/healthz`)).toMatchObject({ status: 200, text: '{"alive":true}' })
  expect(ready.text).toBe('{"ready":true,"problems":[],"held":[]}')
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
        `build_info{version="${version()}",commit="${commit() ?? ''}",node="${process.version}"} 1`,
      ].map((line) => `customer_mirror_${line}`),
      expect.stringMatching(/^customer_mirror_last_success_timestamp_seconds\{organization="acme"\} 1\d{9}\.?\d*$/),
      expect.stringMatching(/^customer_mirror_next_due_timestamp_seconds\{organization="acme"\} 1\d{9}$/),
      expect.stringMatching(/^customer_mirror_process_resident_memory_bytes \d+$/),
    ]),
  )
  expect(promtool(['check', 'metrics'], metrics.text)).toBe('')
  const names = [...readExposition(metrics.text).keys()]
  for (const file of ['alerts.yml', 'grafana-dashboard.json'])
    expect(names).toEqual(expect.arrayContaining(namesIn(file)))
  expect(await ask(`${origin}/`)).toMatchObject({ status: 200, text: expect.stringContaining('<h3>acme</h3>') })
  expect(await ask(`${origin}/runs/1`)).toMatchObject({ status: 200, text: expect.stringContaining('Run #1 of acme') })
  expect(stale).toMatchObject({ status: 503, text: expect.stringContaining('acme: was due at') })
})

test('a worker whose configuration schedules nothing says so at once, in the log, on the page and in /readyz', async () => {
  const sandbox = await aSandbox({ customers: [3] })
  const worker = startWorker(aJobsWorkplace(organizationsOf(sandbox), { schedule: undefined }))
  const said = await worker.said(({ msg }) => msg.startsWith('the configuration schedules nothing'))
  const { http: origin = '' } = await worker.said(message('worker started'))

  expect(said).toMatchObject({ level: 'warn' })
  expect(await ask(`${origin}/readyz`)).toMatchObject({
    status: 503,
    text: expect.stringContaining('the configuration schedules nothing'),
  })
  expect((await ask(`${origin}/`)).text).toContain('The configuration schedules nothing')
})

/** The metrics of a worker that a file for operators names. */
function namesIn(file: string): string[] {
  const names = metricsIn(opsFile(file)).map(({ name }) => name.replace(/_bucket$/, ''))
  return names.filter((name) => name !== 'customer_mirror_status_timestamp_seconds')
}

async function ask(url: string) {
  const response = await fetch(url)
  return { status: response.status, text: await response.text() }
}
