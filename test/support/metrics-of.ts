import { createMetrics, type Measured, type Metrics } from '../../jobs/monitoring/metrics.ts'
import type { UncountedFreshness } from '../../src/model/mirror.ts'

/** What the metrics of a worker are made of, where a test does not say. */
export const NO_RUNS = {
  listUncountedFreshness: async (): Promise<UncountedFreshness[]> => [],
  listHeldRemovals: async () => [],
  listUnderway: async () => [],
  listLatestRuns: async () => [],
}

const NO_JOBS = { getJobCounts: async () => ({}) }

/** The metrics of a worker of the organization acme, and how a test asks for their lines. */
export function metricsOf(changes: Partial<Measured> & { freshness?: readonly UncountedFreshness[] } = {}): {
  metrics: Metrics
  lines: (health?: { ready: boolean; queueUp: boolean }) => Promise<string[]>
} {
  const { freshness = [], ...measured } = changes
  const metrics = createMetrics({
    mirror: { ...NO_RUNS, listUncountedFreshness: async () => [...freshness] },
    queues: Object({ sync: NO_JOBS, quick: NO_JOBS }),
    organizations: () => [{ id: 'acme', schedule: undefined }],
    now: () => 0,
    monotonicMs: () => 0,
    ...measured,
  })
  const healthy = { ready: true, queueUp: true }
  return { metrics, lines: async (health = healthy) => (await metrics.text(health)).split('\n') }
}
