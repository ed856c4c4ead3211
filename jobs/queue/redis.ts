import { once } from 'node:events'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { backoffMs } from '../../src/time/durations.ts'
import { within } from '../../src/machine/timers.ts'
import { ANSWER_MS, CONNECT_MS, FARTHEST, nameInDatabase, type Opening, QUEUE_NAMES, type ServerStore } from './port.ts'

/** How long a connection may take to close, of which nothing is expected any more: a server that does not answer does not close it either. */
const LONGEST_CLOSE_MS = 100

/** The queue on Redis or Valkey. Rejects when it does not accept us within CONNECT_MS. */
export async function openRedis(address: string, { answerMs, commandMs, prefix }: Opening): Promise<ServerStore> {
  const open = new Set<Client>()
  const close = async () => {
    for (const client of open) client.disconnect()
  }
  const settings: Settings = {
    ...{ connectTimeout: CONNECT_MS, socketTimeout: answerMs, disconnectTimeout: LONGEST_CLOSE_MS },
    ...(commandMs !== undefined && { commandTimeout: commandMs }),
    // A running job survives an outage of Redis for minutes: commands wait until it is back.
    maxRetriesPerRequest: null,
    // A server that became a replica keeps its connections, while the address may lead to the new primary.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  }
  try {
    const single = await connected(aServer(address, settings, open))
    // Keys with a hash tag are on one server of a cluster, and BullMQ may name several of them in one command.
    const isOfCluster = prefix.startsWith('{') && (await single.info('cluster')).includes('cluster_enabled:1')
    if (isOfCluster) single.disconnect()
    const client = isOfCluster ? await connected(aCluster(address, settings, open)) : single
    return {
      loadFactory: async () => {
        await within(probe(client, prefix), ANSWER_MS, undefined)
        const { createRedisBackend } = await import('bullmq')
        return (name, options, roles) => createRedisBackend(name, { ...options, connection: client }, roles)
      },
      ask: () => probe(client, prefix),
      values: redisValues(client, prefix),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function connected<Kind extends Client>(client: Kind): Promise<Kind> {
  // A wrong password is reported only as an event, the end of a connection only by the promise; a closed port in both ways.
  const connecting = Promise.all([once(client, 'ready'), client.connect()])
  if ((await within(connecting, CONNECT_MS, undefined)) !== undefined) return client
  throw new Error(`no answer within ${CONNECT_MS / 1000} s`)
}

type Client = Redis | Cluster
type Settings = Omit<RedisOptions, 'replyMapping'>

function aServer(address: string, settings: Settings, open: Set<Client>): Redis {
  const client = new Redis(address, { ...settings, lazyConnect: true, retryStrategy: reconnectMs })
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (override?: Partial<RedisOptions>) => kept(duplicate({ lazyConnect: false, ...override }), open)
  return kept(client, open)
}

function aCluster(address: string, settings: Settings, open: Set<Client>): Cluster {
  const { hostname, port, username, password, protocol } = new URL(address)
  const access = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  const client = new Cluster([{ host: hostname, port: Number(port || 6379) }], {
    ...{ lazyConnect: true, clusterRetryStrategy: reconnectMs },
    redisOptions: { ...settings, ...(password !== '' && access), ...(protocol === 'rediss:' && { tls: {} }) },
  })
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (...asked) => kept(duplicate(...asked), open)
  return kept(client, open)
}

function reconnectMs(times: number): number {
  return backoffMs(times, 1, { firstMs: 400, longestMs: 5000 })
}

/** A connection that must be closed. Its users report an outage; without a listener it would be printed, with its password. */
function kept<Kind extends Client>(client: Kind, open: Set<Client>): Kind {
  client.on('error', () => {})
  client.once('end', () => open.delete(client))
  open.add(client)
  return client
}

/**
 * Asks for what BullMQ needs. Rejects where the server is full or a replica, where another program has our keys, where this user may not use them,
 * run scripts or read INFO, and in a cluster without a hash tag. The server answers in order, so the first refusal is thrown.
 */
async function probe(client: Client, prefix: string) {
  const keys = [sharedKey(prefix), ...QUEUE_NAMES.map((queue) => `bull:${nameInDatabase({ prefix }, queue)}:meta`)]
  const [, info] = await Promise.all([
    // BullMQ's keys begin with bull, so a user restricted to those may ask for this key too. It is not there, and is not made.
    client.set(`bull:${prefix}-probe`, '1', 'PX', 1, 'XX'),
    client.info('memory'),
    client.eval('return 1', keys.length, ...keys),
    client.hlen(sharedKey(prefix)),
  ])
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  return { dropsKeysBy: policy === 'noeviction' ? undefined : policy }
}

function redisValues(client: Client, prefix: string): ServerStore['values'] {
  const key = sharedKey(prefix)
  return {
    read: async (name) => (await client.hget(key, name)) ?? undefined,
    list: async (beginning) => {
      const all = Object.entries(await client.hgetall(key))
      return new Map(all.filter(([name]) => name.startsWith(beginning)))
    },
    write: async (name, value) => void (await client.hset(key, name, value)),
    delete: async (name) => void (await client.hdel(key, name)),
    add: async (name, value) => (await client.hsetnx(key, name, value)) === 1,
    takeTurn: async (limit, spacingMs, pauseMs) =>
      String(await client.eval(TAKE_TURN, 1, key, `limit:${limit}`, spacingMs, pauseMs)),
  }
}

function sharedKey(prefix: string): string {
  return `bull:${prefix}-shared`
}

const TAKE_TURN = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + time[2] / 1000
  local spacing, pause = tonumber(ARGV[2]), tonumber(ARGV[3])
  local before = cjson.decode(redis.call('HGET', KEYS[1], ARGV[1]) or '{"nextMs":0,"pausedUntilMs":0}')
  local isBelieved = before.nextMs <= now + ${FARTHEST.ms} + ${FARTHEST.turns} * spacing
  local turn = isBelieved and math.max(now, before.nextMs) or now
  local pausedUntil = pause > 0 and math.max(before.pausedUntilMs, now + pause) or before.pausedUntilMs
  local taken = cjson.encode({
    turnInMs = turn - now, pausedMs = math.max(0, pausedUntil - now),
    nextMs = turn + (pausedUntil > now and 0 or spacing), pausedUntilMs = pausedUntil })
  redis.call('HSET', KEYS[1], ARGV[1], taken)
  return taken`
