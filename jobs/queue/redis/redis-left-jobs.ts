import type { Redis } from 'ioredis'
import type { FreeJobs } from '../left-jobs.ts'

/** Frees jobs as the keys of BullMQ have them: a job is stalled if it is in that set and has no lock. */
export function redisLeftJobs(client: Redis): FreeJobs {
  return async (queue, isGone) => {
    const base = `bull:${queue}:`
    let freed = 0
    for (const id of await client.lrange(`${base}active`, 0, -1)) {
      const lock = await client.get(`${base}${id}:lock`)
      const holder = lock ?? (await client.hget(`${base}${id}`, 'pb'))
      if (holder !== null && isGone(holder)) freed += Number(await client.eval(FREE, 1, base, id, lock ?? ''))
    }
    if (freed > 0) await client.del(`${base}stalled-check`)
    return freed
  }
}

/** Only if the lock is still the one that was looked at: another worker may have the job by now. */
const FREE = `
  local lock = KEYS[1] .. ARGV[1] .. ':lock'
  if (redis.call('GET', lock) or '') ~= ARGV[2] then return 0 end
  redis.call('DEL', lock)
  redis.call('SADD', KEYS[1] .. 'stalled', ARGV[1])
  return 1`
