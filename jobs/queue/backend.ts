import { dirname, join } from 'node:path'
import type { BackendFactory, IQueueBackend, Telemetry } from 'bullmq'
import { QueueUnavailable } from '../../src/errors.ts'
import { within } from './deadline.ts'
import { openEmbedded } from './embedded.ts'
import { openPostgres } from './postgres.ts'
import { neverOpened } from './queue-refusal.ts'
import { openRedis } from './redis.ts'
import { findTelemetry } from '../monitoring/telemetry.ts'

/** Where jobs are kept. What is above it does not see which kind it is. */
export type Backend = {
  kind: 'redis' | 'postgres' | 'embedded'
  /** The address as it may be said aloud: neither user nor password. */
  place: string
  /** What the names of our queues begin with. */
  prefix: string
  factory: BackendFactory<IQueueBackend, unknown>
  telemetry: Telemetry | undefined
  /** Rejects, or never settles, while the queue cannot be reached. */
  ping: () => Promise<void>
  /** Writes one small key or row of ours, which expires or is written over. Rejects where the queue refuses it. */
  write: () => Promise<void>
  /** Ends every connection at once. */
  close: () => Promise<void>
}

/** What a kind of backend is made of. */
export type Store = Pick<Backend, 'factory' | 'ping' | 'write' | 'close'>

/** How long to look for a queue at the start. */
const CONNECT_MS = 2_500
/** How long to wait for its first write. One that hangs has not been refused. */
const WRITE_MS = 2_000

/**
 * Opens the queue at an address, or the embedded one beside the mirror, and writes to it once. Throws QueueUnavailable within
 * three seconds where it is not there, and within five where it takes no writes.
 */
export async function openBackend(address: string, { mirrorFile }: { mirrorFile: string }): Promise<Backend> {
  const telemetry = await findTelemetry()
  if (address === 'embedded') {
    const folder = join(dirname(mirrorFile), 'queue')
    const store = await openWritable(() => openEmbedded(folder, DEFAULT_PREFIX), folder)
    return { kind: 'embedded', place: folder, prefix: DEFAULT_PREFIX, telemetry, ...store }
  }
  const { url, prefix } = parseAddress(address)
  const place = `${url.protocol}//${url.host}${url.pathname}`
  const kind = url.protocol.startsWith('redis') ? 'redis' : 'postgres'
  const open = kind === 'redis' ? openRedis : openPostgres
  return { kind, place, prefix, telemetry, ...(await openWritable(() => open(url.href, CONNECT_MS, prefix), place)) }
}

/** Opens a store that takes a write. Throws QueueUnavailable for one that does not. */
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

const DEFAULT_PREFIX = 'customer-mirror'

/** `?prefix=name` is ours: it keeps several mirrors apart in one database. */
function parseAddress(address: string): { url: URL; prefix: string } {
  const url = new URL(address)
  const prefix = url.searchParams.get('prefix') ?? DEFAULT_PREFIX
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(prefix))
    throw new QueueUnavailable('The queue address has a prefix that is no name: use letters, digits, dots and dashes.')
  url.searchParams.delete('prefix')
  return { url, prefix }
}
