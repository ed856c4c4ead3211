import { processText } from '../../jobs/monitoring/metrics.ts'
import { statusMetrics } from '../../jobs/monitoring/metrics.ts'
import { emptyReport } from '../../src/model/report.ts'
import { START_MS } from './builders.ts'
import { readExposition, type Family } from './exposition.ts'
import { metricsOf } from './metrics-of.ts'
import { aPlayedMirror, tamper } from './mirror-file.ts'
import { IN_STATES, LOOKED_AT_MS, mirrorAllStates } from './organizations-in-all-states.ts'

const SCHEDULE = { cron: '0 2 * * *', timezone: 'Etc/UTC', spreadMs: 0 }

const PAUSES = new Map([['waiting', { sinceMs: START_MS, untilMs: undefined, resumedMs: undefined }]])

/** Every metric that a worker or `status` writes, with an organization in each state and each thing counted once. */
export async function everyMetric(): Promise<Map<string, Family>> {
  const mirror = await aPlayedMirror(mirrorAllStates)
  tamper(
    mirror.file,
    `INSERT INTO retired_organizations (organization, retired_at) VALUES ('late', '2026-01-01 00:00:00.000')`,
  )
  tamper(mirror.file, `UPDATE runs SET reasons = '["shape-changed"]' WHERE organization = 'unproven'`)
  const organizations = IN_STATES.map((id) => ({ id, schedule: SCHEDULE }))
  const counts = { getJobCounts: async () => ({ waiting: 1, active: 1, delayed: 1, completed: 1, failed: 1 }) }
  const queues = Object({ sync: counts, quick: counts })
  const { metrics, lines } = metricsOf({
    mirror,
    queues,
    organizations: () => organizations,
    pauses: async () => PAUSES,
    now: () => LOOKED_AT_MS,
  })
  const report = emptyReport({ organization: 'fresh', trigger: 'schedule', startedAtMs: START_MS })
  const outcome = { report, error: undefined }
  metrics.countRun({ organization: 'fresh', outcome, verdict: { kind: 'complete' }, isLast: true })
  for (const status of [200, 429, 503]) metrics.countAnswer('fresh', { status })
  const config = Object({ organizations })
  const ofStatus = await statusMetrics(mirror, { config, pauses: PAUSES, nowMs: LOOKED_AT_MS, monotonicMs: 0 })
  const texts = [(await lines()).join('\n'), await processText(), ofStatus]
  return new Map(texts.flatMap((text) => [...readExposition(text)]))
}
