import { collectDefaultMetrics, Registry } from 'prom-client'
import { PREFIX } from './meters.ts'

/** Gauges that are named like counters. The same figures are there by type, and their sums need no metric. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

let registry: Registry | undefined

/**
 * Begins to measure this process: its CPU, its memory, and how late its event loop is. Once in a process, because what observes it
 * cannot be ended. The function returned writes the figures in the text format of Prometheus.
 */
export function measureProcess(): () => Promise<string> {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry, prefix: PREFIX })
    for (const name of MISNAMED) registry.removeSingleMetric(`${PREFIX}${name}`)
  }
  const measured = registry
  return () => measured.metrics()
}
