import type { Redis } from 'ioredis'
import type { SharedValues } from '../shared-values.ts'

/** Shared values in one hash. */
export function redisValues(client: Redis, prefix: string): SharedValues {
  const key = sharedKey(prefix)
  return {
    read: async (name) => (await client.hget(key, name)) ?? undefined,
    list: async (beginning) => {
      const all = Object.entries(await client.hgetall(key))
      return new Map(all.filter(([name]) => name.startsWith(beginning)))
    },
    write: async (name, value) => {
      await client.hset(key, name, value)
    },
    delete: async (name) => {
      await client.hdel(key, name)
    },
    replace: async (name, before, value) => {
      if (before === undefined) return (await client.hsetnx(key, name, value)) === 1
      return (await client.eval(REPLACE, 1, key, name, before, value)) === 1
    },
  }
}

/** The key begins as those of BullMQ do, so a user restricted to these may use it too. */
export function sharedKey(prefix: string): string {
  return `bull:${prefix}-shared`
}

const REPLACE = `
  if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  return 1`
