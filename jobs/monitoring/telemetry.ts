import type { Telemetry } from 'bullmq'
import { version } from '../../src/version.ts'

/** Spans and metrics of the queue, when an OpenTelemetry SDK was loaded before this program (`node --import`). */
export async function findTelemetry(): Promise<Telemetry | undefined> {
  if (!isSdkLoaded()) return undefined
  const { BullMQOtel } = await import('bullmq-otel')
  return new BullMQOtel({
    tracerName: 'customer-mirror',
    meterName: 'customer-mirror',
    version: version(),
    enableMetrics: true,
  })
}

/** An SDK registers itself under this name; without one, no spans are received. */
function isSdkLoaded(): boolean {
  const registered: unknown = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'))
  return typeof registered === 'object' && registered !== null && 'trace' in registered
}
