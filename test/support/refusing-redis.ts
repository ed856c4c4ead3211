import { aGate } from './gate.ts'
import { aJobsWorkplace, aQueue } from './jobs-workplace.ts'
import type { RedisServer } from '../../bench/redis-server.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** One more than a worker mirrors at a time, so that a job is always waiting: BullMQ asks for it at once after an error. */
export const ORGANIZATIONS = 9

/** What makes a Redis refuse to write, what ends that, and what is said of it. */
export const REFUSALS: [what: string, begin: string[], end: string[], reason: string, remedy: string][] = [
  [
    'is full',
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
    'OOM',
    'repair there what it says',
  ],
  [
    'has become a replica',
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
    'READONLY',
    'repair there what it says',
  ],
]

/** Gives the server a command in words. */
export async function command(redis: RedisServer, [name = '', ...parameters]: string[]): Promise<void> {
  await redis.command(name, ...parameters)
}

/** A folder with a configuration for a queue on that server. */
export async function aPlaceOn(
  redis: RedisServer,
  { organizations = 1, gate = aGate({ fromPage: 1000 }), queue = aQueue(redis.url) } = {},
) {
  const customers = Array.from({ length: organizations }, () => 150)
  const sandbox = await aSandbox({ customers, intercept: gate.intercept })
  return aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { queue })
}
