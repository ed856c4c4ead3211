import { join } from 'node:path'
import type { Telemetry } from 'bullmq'
import { version } from '../../src/machine/version.ts'
import { within } from './deadline.ts'
import { DEFAULT_PREFIX, parseAddress, placeOf, type Backend, type Readable, type Store } from './port.ts'
import { neverOpened } from './queue-faults.ts'

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
    const { openEmbedded } = await import('./embedded.ts')
    const store = await openWritable(() => openEmbedded(folder, DEFAULT_PREFIX), folder)
    return { kind: 'embedded', place: folder, prefix: DEFAULT_PREFIX, telemetry, ...store }
  }
  const { url, prefix } = parseAddress(address)
  const place = placeOf(url)
  const opening = { connectMs: CONNECT_MS, answerMs: ANSWER_MS, prefix }
  const open = async () =>
    isRedis(url)
      ? (await import('./redis.ts')).openRedis(url.href, opening)
      : (await import('./postgres.ts')).openPostgres(url.href, opening)
  const kind = isRedis(url) ? 'redis' : 'postgres'
  return { kind, place, prefix, telemetry, ...(await openWritable(open, place)) }
}

function isRedis({ protocol }: URL): boolean {
  return protocol.startsWith('redis')
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

/**
 * Asks a queue on a server for one thing, and writes nothing; undefined where that takes longer than `limitMs`. Little of this program is
 * loaded. Rejects with the reason where it cannot be reached.
 */
export async function askQueue<Result>(
  address: string,
  limitMs: number,
  ask: (readable: Readable) => Promise<Result>,
): Promise<Result | undefined> {
  const { url, prefix } = parseAddress(address)
  const opening = { connectMs: limitMs, prefix }
  const opened = isRedis(url)
    ? import('./redis.ts').then(({ readRedis }) => readRedis(url.href, opening))
    : import('./postgres.ts').then(({ readPostgres }) => readPostgres(url.href, opening))
  try {
    return await within(opened.then(ask), limitMs, undefined)
  } finally {
    void opened.then((readable) => readable.close()).catch(() => {})
  }
}

/** How long to wait for a connection and its answer together. */
const CHECK_MS = 2000

/** A queue that answered: its address without user and password, and the policy by which a Redis drops keys when it is full, if it does. */
export type ProbedQueue = { place: string; dropsKeysBy: string | undefined }

/**
 * Asks a queue on a server whether it answers, and whether a worker could use it. Creates nothing. Throws QueueUnavailable within two seconds
 * where the server does not answer, or refuses.
 */
export async function probeQueue(address: string): Promise<ProbedQueue> {
  const place = placeOf(new URL(address))
  try {
    const answered = await askQueue(address, CHECK_MS, ({ ask }) => ask())
    if (answered === undefined) throw new Error(`no answer within ${CHECK_MS / 1000} s`)
    return { place, dropsKeysBy: answered.dropsKeysBy }
  } catch (error) {
    throw neverOpened(error, place)
  }
}

/** Spans and metrics of the queue, when an OpenTelemetry SDK was loaded before this program (`node --import`). */
async function findTelemetry(): Promise<Telemetry | undefined> {
  // An SDK registers itself under this name; without one, no spans are received.
  const registered: unknown = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'))
  if (typeof registered !== 'object' || registered === null || !('trace' in registered)) return undefined
  const { BullMQOtel } = await import('bullmq-otel')
  const name = { tracerName: 'customer-mirror', meterName: 'customer-mirror' }
  return new BullMQOtel({ ...name, version: version(), enableMetrics: true })
}
