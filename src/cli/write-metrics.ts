import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../config/read-config.ts'
import { UsageError } from '../errors.ts'
import { monotonicMs } from '../monotonic-clock.ts'
import type { Pauses } from '../pause.ts'
import type { Mirror } from '../store.ts'

type Asked = { config: Config; pauses?: Pauses | undefined; nowMs: number }

/** The status of a mirror in the text format of Prometheus. */
export async function metricsOf(mirror: Mirror, asked: Asked): Promise<string> {
  const { statusMetrics } = await import('../../jobs/monitoring/status-metrics.ts')
  return statusMetrics(mirror, { ...asked, monotonicMs: monotonicMs() })
}

/**
 * Writes the metrics as one file, which another user may read, since node_exporter is one. Throws UsageError and ExportFailed for a
 * bad target, and then leaves it as it was.
 */
export async function writeMetrics(file: string, mirror: Mirror, asked: Asked): Promise<void> {
  const { writeFileWhole } = await import('../reading/write-file.ts')
  if (file.trim() === '') throw new UsageError('The name of the file is empty: name a file, such as status.prom.')
  const target = /[/\\]$/.test(file) ? `${resolve(file)}/` : resolve(file)
  const text = await metricsOf(mirror, asked)
  writeFileWhole(target, text, { mirror: mirror.file, example: 'customer-mirror.prom', mayReplace, mode: 0o644 })
}

/** Throws UsageError for a file with anything but metrics of this program, such as the configuration. */
function mayReplace(file: string): void {
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere && !readFileSync(file, 'utf8').startsWith('# HELP customer_mirror_'))
    throw new UsageError(`${file}: is there already, and was not made by this command. Name another file.`)
}
