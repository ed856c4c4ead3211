import { env } from 'node:process'
import { redisProgram } from './redis-server.ts'

/**
 * The queue the tests run on: `CUSTOMER_MIRROR_TEST_QUEUE` (`embedded`, or an address), else `REDIS_URL`, else `own`, a
 * server of their own from the PATH, else the embedded one.
 */
export function chosenQueue(): string {
  const named = env['CUSTOMER_MIRROR_TEST_QUEUE'] ?? env['REDIS_URL']
  return named ?? (redisProgram() === undefined ? 'embedded' : 'own')
}

/** Tests of what several workers do to one queue, which the embedded one cannot have, or of losing a Redis of their own. */
export function notOnThisQueue(): string[] {
  if (chosenQueue() === 'embedded') return ['test/jobs/shared-queue/**', 'test/jobs/configuration/config-reload.deep.*']
  const ofRedis = ['loss', 'refuses'].map((what) => `test/jobs/shared-queue/redis-${what}.*`)
  return redisProgram() === undefined ? ofRedis : []
}
