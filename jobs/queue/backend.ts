import { join } from 'node:path'
import type { BackendFactory, IQueueBackend, Telemetry } from 'bullmq'
import { within } from './deadline.ts'
import { openEmbedded } from './postgres/embedded.ts'
import { openPostgres } from './postgres/postgres.ts'
import { neverOpened } from './queue-refusal.ts'
import { DEFAULT_PREFIX, parseAddress, placeOf } from './prefixed-address.ts'
import { openRedis } from './redis/redis.ts'
import type { SharedLimits } from '../limits/shared-limits.ts'
import type { SharedValues } from './shared-values.ts'
import { version } from '../../src/version.ts'

/** The store of the jobs. Its users do not see which kind it is. */
export type Backend = {
  kind: 'redis' | 'postgres' | 'embedded'
  /** The address for messages, without user and password. */
  place: string
  /** The prefix of our queue names. */
  prefix: string
  factory: BackendFactory<IQueueBackend, unknown>
  telemetry: Telemetry | undefined
  /** Rejects, or never settles, while the queue cannot be reached. */
  ping: () => Promise<void>
  /** Writes one small key or row, which expires or is overwritten. Rejects when the queue refuses it. */
  write: () => Promise<void>
  /** What its workers share beside the jobs. */
  values: SharedValues
  /** Rate limits that its workers share; none where one process is the only worker. */
  limits: SharedLimits | undefined
  /** Ends every connection at once. */
  close: () => Promise<void>
}

/** The parts of a backend that depend on its kind. */
export type Store = Pick<Backend, 'factory' | 'ping' | 'write' | 'values' | 'limits' | 'close'>

export type Opening = {
  /** How long to wait for a connection at the start. */
  connectMs: number
  /** A connection without an answer for this long is replaced: something on the way may have dropped it, without a word to either end. */
  answerMs: number
  prefix: string
}

const CONNECT_MS = 2_500
/** Longer than a worker waits for a job in one command. */
const ANSWER_MS = 60_000
/** How long to wait for the first write. A write that hangs is not a refusal. */
const WRITE_MS = 2_000

/**
 * Opens the queue at an address, or the embedded one in `folder`, that of the mirror, and writes to it once. Throws QueueUnavailable within
 * three seconds if it cannot be reached, and within five if it refuses the write.
 */
export async function openBackend(address: string, { folder: parent }: { folder: string }): Promise<Backend> {
  const telemetry = await findTelemetry()
  if (address === 'embedded') {
    const folder = join(parent, 'queue')
    const store = await openWritable(() => openEmbedded(folder, DEFAULT_PREFIX), folder)
    return { kind: 'embedded', place: folder, prefix: DEFAULT_PREFIX, telemetry, ...store }
  }
  const { url, prefix } = parseAddress(address)
  const place = placeOf(url)
  const kind = url.protocol.startsWith('redis') ? 'redis' : 'postgres'
  const open = kind === 'redis' ? openRedis : openPostgres
  const opening = { connectMs: CONNECT_MS, answerMs: ANSWER_MS, prefix }
  return { kind, place, prefix, telemetry, ...(await openWritable(() => open(url.href, opening), place)) }
}

/** Opens a store and writes to it once. Throws QueueUnavailable when it refuses the write. */
async function openWritable(open: () => Promise<Store>, place: string): Promise<Store> {
  try {
    const store = await open()
    try {
      await within(store.write(), WRITE_MS, undefined)
    } catch (error) {
      await store.close()
      throw error
    }
    return store
  } catch (error) {
    throw neverOpened(error, place)
  }
}

/** Spans and metrics of the queue, when an OpenTelemetry SDK was loaded before this program (`node --import`). */
async function findTelemetry(): Promise<Telemetry | undefined> {
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
