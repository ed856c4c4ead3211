import type { Redis } from 'ioredis'
import type { FreeJobs } from '../left-jobs.ts'

/**
 * Frees jobs as the keys of BullMQ have them: a job is stalled if it is in that set and has no lock. After the clock of Redis was set back, a
 * lock, and the key that says that stalled jobs were looked for, stay until it has come as far again.
 */
export function redisLeftJobs(client: Redis): FreeJobs {
  return async (queue, { isGone, isSilent }) => {
    const base = `bull:${queue}:`
    const isStuck = async (key: string, value: string) => (await client.pttl(key)) > LONGEST_MS && isSilent(key, value)
    let freed = 0
    for (const id of await client.lrange(`${base}active`, 0, -1)) {
      const lock = await client.get(`${base}${id}:lock`)
      const holder = lock ?? (await client.hget(`${base}${id}`, 'pb'))
      const isStale = lock !== null && (await isStuck(`${base}${id}:lock`, lock))
      const isLeft = isStale || (holder !== null && isGone(holder))
      const leastMs = isStale ? LONGEST_MS : NO_LOCK_MS
      if (isLeft) freed += Number(await client.eval(FREE, 1, base, id, lock ?? '', leastMs))
    }
    if (freed > 0 || (await isStuck(`${base}stalled-check`, ''))) await client.del(`${base}stalled-check`)
    return freed
  }
}

/** No lock lasts so long, nor the time from one look for stalled jobs to the next: those that seem to are renewed soon, or left. */
const LONGEST_MS = 600_000

/** What Redis says of the time that is left where there is no such key. */
const NO_LOCK_MS = -2

/** Only if the lock is still the one that was looked at: another worker may have the job by now, or its own may have renewed it. */
const FREE = `
  local lock = KEYS[1] .. ARGV[1] .. ':lock'
  if (redis.call('GET', lock) or '') ~= ARGV[2] then return 0 end
  if redis.call('PTTL', lock) < tonumber(ARGV[3]) then return 0 end
  redis.call('DEL', lock)
  redis.call('SADD', KEYS[1] .. 'stalled', ARGV[1])
  return 1`
