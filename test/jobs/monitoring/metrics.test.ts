import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMetrics } from '../../../jobs/monitoring/metrics.ts'
import { emptyReport } from '../../../src/report.ts'
import { anEnding, START_MS } from '../../support/builders.ts'
import { aMirror, tamper } from '../../support/mirror-file.ts'

const NO_JOBS = { getJobCounts: async () => ({}) }

test('any run there is can be counted, one measured by a clock that was set back included', async () => {
  const odd = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-3_600_000, NaN, -Infinity, -0))
  await fc.assert(
    fc.asyncProperty(odd, odd, async (durationMs, waitedMs) => {
      const metrics = someMetrics()
      metrics.countRun(aRunOfJob({ durationMs, waitedMs }))

      expect(await metrics.text()).toContain('customer_mirror_run_duration_seconds_count{organization="acme"} 1')
    }),
  )
})

test('a stored run whose end was written before its start is counted', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.finishRun(run, anEnding(), START_MS)
  tamper(
    mirror.file,
    `UPDATE runs SET duration_ms = NULL, finished_at = datetime(started_at, '-1 hour'), waited_ms = -3600000`,
  )
  const [report] = await mirror.listRuns({ limit: 1 })
  const metrics = someMetrics()
  metrics.countRun(aRunOfJob(report))
  const lines = (await metrics.text()).split('\n')

  expect(lines).toContain('customer_mirror_waited_seconds_total{organization="acme"} 0')
  expect(lines).toContain('customer_mirror_run_duration_seconds_sum{organization="acme"} 0')
})

function someMetrics() {
  const queues = { tick: NO_JOBS, sync: NO_JOBS, quick: NO_JOBS }
  return createMetrics({
    mirror: { listFreshness: async () => [] },
    queues: Object(queues),
    organizations: () => ['acme'],
    now: () => START_MS,
  })
}

function aRunOfJob(changes: object = {}) {
  const report = { ...emptyReport({ organization: 'acme', trigger: 'sync', startedAtMs: START_MS }), ...changes }
  return {
    organization: 'acme',
    outcome: { report, error: undefined },
    verdict: { kind: 'complete' },
    isLast: true,
  } as const
}
