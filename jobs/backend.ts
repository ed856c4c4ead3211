import { dirname, join } from 'node:path'
import type { BackendFactory, IQueueBackend, Telemetry } from 'bullmq'
import { QueueUnavailable } from '../src/errors.ts'
import { openEmbedded } from './embedded.ts'
import { openPostgres } from './postgres.ts'
import { openRedis } from './redis.ts'
import { findTelemetry } from './telemetry.ts'

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
  /** Ends every connection at once. */
  close: () => Promise<void>
}

/** What a kind of backend is made of. */
export type Store = Pick<Backend, 'factory' | 'ping' | 'close'>

/** How long to look for a queue at the start. */
const CONNECT_MS = 2_500

/** Opens the queue at an address, or the embedded one beside the mirror. Throws QueueUnavailable within three seconds. */
export async function openBackend(address: string, { mirrorFile }: { mirrorFile: string }): Promise<Backend> {
  const telemetry = await findTelemetry()
  if (address === 'embedded') {
    const folder = join(dirname(mirrorFile), 'queue')
    const store = await openEmbedded(folder)
    return { kind: 'embedded', place: folder, prefix: DEFAULT_PREFIX, telemetry, ...store }
  }
  const { url, prefix } = parseAddress(address)
  const place = `${url.protocol}//${url.host}${url.pathname}`
  const kind = url.protocol.startsWith('redis') ? 'redis' : 'postgres'
  try {
    const open = kind === 'redis' ? openRedis : openPostgres
    return { kind, place, prefix, telemetry, ...(await open(url.href, CONNECT_MS)) }
  } catch (error) {
    // The cause stays behind: drivers keep the password in it.
    throw new QueueUnavailable(
      `The queue at ${place} cannot be used: ${reasonOf(error)}. Start it, or correct queue in the configuration; ` +
        '`customer-mirror sync` needs none.',
    )
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

/** A reason that names no command and no argument. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const first = error instanceof AggregateError ? error.errors[0] : error
  const code = first instanceof Error && 'code' in first ? String(first.code) : undefined
  return first instanceof Error && first.message !== '' ? firstLine(first.message) : (code ?? 'it failed')
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/[.\s]+$/, '')
}
