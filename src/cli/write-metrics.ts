import type { Config } from '../config/read-config.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import type { Pauses } from '../pause.ts'
import type { Mirror } from '../store.ts'
import { replaceOwnFile } from './replace-own-file.ts'

type Asked = { config: Config; pauses?: Pauses | undefined; nowMs: number }

/** The status of a mirror in the text format of Prometheus. */
export async function metricsOf(mirror: Mirror, asked: Asked): Promise<string> {
  const { statusMetrics } = await import('../../jobs/monitoring/status-metrics.ts')
  return statusMetrics(mirror, { ...asked, monotonicMs: monotonicMs() })
}

/** Writes the metrics as one file, which another user may read, since node_exporter is one. */
export async function writeMetrics(file: string, mirror: Mirror, asked: Asked): Promise<void> {
  await replaceOwnFile(file, mirror, { kind: METRICS, text: () => metricsOf(mirror, asked) })
}

const METRICS = {
  example: 'customer-mirror.prom',
  beginning: '# HELP customer_mirror_',
  whenUnnamed: 'The name of the file is empty: name a file, such as status.prom.',
  whenForeign: 'is there already, and was not made by this command. Name another file.',
  mode: 0o644,
}
