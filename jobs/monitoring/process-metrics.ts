import { collectDefaultMetrics, Registry } from 'prom-client'
import { PREFIX } from './meters.ts'

let registry: Registry | undefined

/**
 * Begins to measure this process: its CPU, its memory, and how late its event loop is. Once in a process, because what observes it
 * cannot be ended. The function returned writes the figures in the text format of Prometheus.
 */
export function measureProcess(): () => Promise<string> {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry, prefix: PREFIX })
  }
  const measured = registry
  return () => measured.metrics()
}
