import { onTestFinished } from 'vitest'
import { aGate } from './gate.ts'
import { aJobsWorkplace, aQueue } from './jobs-workplace.ts'
import { type RedisServer, startRedis } from './redis-server.ts'
import { startWorker } from './worker-log.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

export async function aRedis(options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  onTestFinished(() => redis.close())
  return redis
}

export async function aPlaceOn(redis: RedisServer, gate = aGate({ fromPage: 1000 })) {
  const sandbox = await aSandbox({ customers: [400], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { queue: aQueue(redis.url) })
  return place
}

export async function aWorkerOn(redis: RedisServer, gate?: ReturnType<typeof aGate>) {
  const place = await aPlaceOn(redis, gate)
  return { redis, place, worker: startWorker(place) }
}
