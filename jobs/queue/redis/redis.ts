import { createRedisBackend } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { backoffMs } from '../../../src/time/backoff.ts'
import type { Opening, Store } from '../backend.ts'
import { LONGEST_CLOSE_MS, within } from '../deadline.ts'
import { writeProbe } from './redis-use.ts'
import { redisValues, sharedKey } from './redis-values.ts'
import { z } from 'zod'
import { believableMs, farthestMs, SET_BACK_MS, valueOf, type SharedLimits } from '../../limits/shared-limits.ts'

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

/** Rate limits beside the other shared values. One script reads Redis' own clock, reserves and writes. */
function redisLimits(client: Redis, prefix: string): SharedLimits {
  const key = sharedKey(prefix)
  return {
    async reserve(name, { turns, spacingMs, pauseMs, worker }) {
      const wanted = [turns, spacingMs, pauseMs, worker, believableMs(spacingMs), SET_BACK_MS, farthestMs(spacingMs)]
      const answer = await client.eval(RESERVE, 1, key, valueOf(name), ...wanted)
      const [granted, firstInMs, pausedMs, workers] = answered.parse(answer)
      return { turns: granted, firstInMs, pausedMs, workers }
    },
  }
}

/** Redis cuts the fraction off a number, so numbers come as texts. */
const answered = z.tuple([z.coerce.number(), z.coerce.number(), z.coerce.number(), z.coerce.number()])

/** A value that is not ours is written anew; fields of a newer version stay. */
const RESERVE = `
  local turns, spacing, pause = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local worker, believable, setBack, farthest = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local time = redis.call('TIME')
  local now = time[1] * 1000 + time[2] / 1000
  local isJson, limit = pcall(cjson.decode, redis.call('HGET', KEYS[1], ARGV[1]) or '{}')
  if not isJson or type(limit) ~= 'table' then limit = {} end
  local at, first, paused = tonumber(limit.atMs) or now, tonumber(limit.nextMs) or now, tonumber(limit.pausedUntilMs) or 0
  if now < at - setBack then
    first, paused = first + now - at, paused + now - at
  end
  if first < now or first > now + farthest then first = now end
  if pause > 0 then paused = math.max(paused, now + pause) end
  if paused > now then turns = 0 end
  local workers, count = {}, 1
  if type(limit.workers) == 'table' then
    for other, seen in pairs(limit.workers) do
      seen = tonumber(seen)
      if other ~= worker and seen and math.abs(now - seen) <= believable then
        workers[other] = seen
        count = count + 1
      end
    end
  end
  workers[worker] = now
  limit.atMs, limit.nextMs, limit.pausedUntilMs, limit.workers = now, first + turns * spacing, paused, workers
  redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(limit))
  local text = function(number) return string.format('%.1f', number) end
  return { text(turns), text(first - now), text(math.max(0, paused - now)), text(count) }`
