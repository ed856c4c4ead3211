import type { Redis } from 'ioredis'
import { z } from 'zod'
import { sharedKey } from './redis-values.ts'
import { believableMs, farthestMs, SET_BACK_MS, valueOf, type SharedLimits } from '../../limits/shared-limits.ts'

/** Rate limits beside the other shared values. One script reads Redis' own clock, reserves and writes. */
export function redisLimits(client: Redis, prefix: string): SharedLimits {
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
