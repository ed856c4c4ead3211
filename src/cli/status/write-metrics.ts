import { monotonicMs } from '../../machine/timers.ts'
import type { Mirror } from '../../store.ts'
import type { Io } from '../io.ts'
import { writeStatus, type StatusFacts } from './write-status.ts'

/** Writes the status of a mirror in the text format of Prometheus, which another user may read, since node_exporter is one. */
export async function writeMetrics(file: string, io: Io, mirror: Mirror, facts: StatusFacts): Promise<void> {
  const { statusMetrics } = await import('../../../jobs/monitoring/status-metrics.ts')
  const text = () => statusMetrics(mirror, { ...facts, monotonicMs: monotonicMs() })
  await writeStatus(file, io, mirror, { kind: METRICS, text })
}

const METRICS = {
  example: 'customer-mirror.prom',
  beginning: '# HELP customer_mirror_',
  whenUnnamed: 'The name of the file is empty: name a file, such as status.prom.',
  whenForeign: 'is there already, and was not made by this command. Name another file.',
  mode: 0o644,
}
