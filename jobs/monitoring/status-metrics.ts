import { Registry } from 'prom-client'
import type { Config } from '../../src/config/read-config.ts'
import type { Pauses } from '../../src/pause.ts'
import { readStandings } from '../../src/page/overview.ts'
import { checkSchedules } from '../schedule/schedule-mistakes.ts'
import { metersIn } from './meters.ts'
import { measureBuild, measureStandings } from './organization-gauges.ts'
import { overviewFacts } from './overview-facts.ts'

type Asked = { config: Config; pauses?: Pauses | undefined; nowMs: number; monotonicMs: number }

/**
 * What the mirror says of each organization, for machines without a worker, in the text format of Prometheus and under the names that
 * a worker uses. Moments and no ages, because the text is read later.
 */
export async function statusMetrics(
  mirror: Parameters<typeof readStandings>[0],
  { config, pauses, nowMs, monotonicMs }: Asked,
): Promise<string> {
  checkSchedules(config, nowMs)
  const standings = await readStandings(mirror, overviewFacts(config.organizations, { pauses, nowMs, monotonicMs }))
  const registry = new Registry()
  const meters = metersIn(registry)
  measureBuild(meters)
  measureStandings(meters, () => standings)
  meters.gauge('status_timestamp_seconds', 'When this text was made', [], (value) => value.set(nowMs / 1000))
  return registry.metrics()
}
