import { createRedisBackend } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { backoffMs } from '../../../src/time/backoff.ts'
import type { Opening, Store } from '../backend.ts'
import { LONGEST_CLOSE_MS, within } from '../deadline.ts'
import { redisLimits } from './redis-limits.ts'
import { writeProbe } from './redis-use.ts'
import { redisValues } from './redis-values.ts'

const RECONNECT = { firstMs: 400, longestMs: 5000 }

/** The queue on Redis or Valkey. Rejects when it does not accept us within `connectMs`. */
export async function openRedis(address: string, { connectMs, answerMs, prefix }: Opening): Promise<Store> {
  const client = new TrackedRedis(address, {
    lazyConnect: true,
    connectTimeout: connectMs,
    socketTimeout: answerMs,
    disconnectTimeout: LONGEST_CLOSE_MS,
    // A running job survives an outage of Redis for minutes: commands wait until it is back.
    maxRetriesPerRequest: null,
    retryStrategy: (times) => backoffMs(times, 1, RECONNECT),
  })
  // The users of the connection report an outage; without this listener it would be printed, with its password.
  client.on('error', () => {})
  try {
    const answer = await within(connect(client), connectMs, 'late')
    if (answer === 'late') throw new Error(`no answer within ${connectMs / 1000} s`)
  } catch (error) {
    client.disconnectAll()
    throw error
  }
  return {
    factory: (name, options, roles) => createRedisBackend(name, { ...options, connection: client }, roles),
    ping: async () => {
      await client.ping()
    },
    write: () => writeProbe(client, prefix),
    values: redisValues(client, prefix),
    limits: redisLimits(client, prefix),
    close: async () => {
      client.disconnectAll()
    },
  }
}

async function connect(client: Redis): Promise<void> {
  const failed = new Promise<never>((_, reject) => client.once('error', reject))
  failed.catch(() => {})
  // A wrong password is reported only as an event; a closed port in both ways.
  await Promise.race([client.connect(), failed])
  await Promise.race([client.ping(), failed])
}

/** Remembers its duplicates: each is a connection that must be closed. */
class TrackedRedis extends Redis {
  readonly #copies = new Set<Redis>()

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate({ lazyConnect: false, ...override })
    copy.on('error', () => {})
    copy.once('end', () => this.#copies.delete(copy))
    this.#copies.add(copy)
    return copy
  }

  disconnectAll(): void {
    for (const client of [this, ...this.#copies]) client.disconnect()
  }
}
