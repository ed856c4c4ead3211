import { LONGEST_CLOSE_MS, within } from './deadline.ts'
import { parseAddress } from './prefixed-address.ts'
import type { RedisFacts } from './redis/redis-use.ts'
import type { SharedValues } from './shared-values.ts'

/** Shared values to be read. */
type Readable = {
  values: Pick<SharedValues, 'read' | 'list'>
  /** What a server of Redis says of itself. Rejects with the reason where a server cannot be reached, or does not let us work. */
  ask: () => Promise<Partial<RedisFacts>>
  close(): Promise<void>
}

/**
 * The shared values of a queue on a server, to be read and nothing else: nothing is written, no job is touched, and little of this
 * program is loaded. The verbs reject where it cannot be reached.
 */
export async function openValues(address: string, connectMs: number): Promise<Readable> {
  const { url, prefix } = parseAddress(address)
  const open = url.protocol.startsWith('redis') ? openInRedis : openInPostgres
  return open({ address: url.href, connectMs, prefix })
}

/** Opens them to ask for one thing; undefined where that takes longer than `limitMs`. */
export async function askValues<Result>(
  address: string,
  limitMs: number,
  ask: (readable: Readable) => Promise<Result>,
): Promise<Result | undefined> {
  const opened = openValues(address, limitMs)
  try {
    return await within(opened.then(ask), limitMs, undefined)
  } finally {
    void opened.then((readable) => readable.close()).catch(() => {})
  }
}

type Place = { address: string; connectMs: number; prefix: string }

async function openInRedis({ address, connectMs, prefix }: Place): Promise<Readable> {
  const [{ Redis }, { askForUse }, { redisValues }] = await Promise.all([
    import('ioredis'),
    import('./redis/redis-use.ts'),
    import('./redis/redis-values.ts'),
  ])
  const once = { connectTimeout: connectMs, maxRetriesPerRequest: 0, retryStrategy: () => null }
  const settings = { ...once, disconnectTimeout: LONGEST_CLOSE_MS }
  const client = new Redis(address, settings)
  // The verbs report the failure; without this listener it would be printed, with its password.
  client.on('error', () => {})
  const failed = new Promise<never>((_, reject) => client.once('error', reject))
  failed.catch(() => {})
  // The reason is reported only as an event.
  const ask = () => Promise.race([askForUse(client, prefix), failed])
  return { values: redisValues(client, prefix), ask, close: async () => client.disconnect() }
}

async function openInPostgres({ address, connectMs, prefix }: Place): Promise<Readable> {
  const [{ Pool }, { postgresValues }, { QueueClient, queueSettings }] = await Promise.all([
    import('pg'),
    import('./postgres/postgres-values.ts'),
    import('./postgres/queue-client.ts'),
  ])
  const settings = { ...queueSettings(address), connectionTimeoutMillis: connectMs, query_timeout: connectMs }
  const pool = new Pool({ ...settings, Client: QueueClient, max: 1 })
  pool.on('error', () => {})
  const ask = async () => {
    const { openSession, requireUsable } = await import('./postgres/queue-sessions.ts')
    const client = await openSession(settings, connectMs)
    try {
      await requireUsable(client)
    } finally {
      void client.end().catch(() => {})
    }
    return {}
  }
  return { values: postgresValues(pool, prefix), ask, close: () => pool.end() }
}
