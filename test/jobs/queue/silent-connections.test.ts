import { inject, describe, expect, onTestFinished, test } from 'vitest'
import { openPostgres } from '../../../jobs/queue/postgres.ts'
import { openRedis } from '../../../jobs/queue/redis.ts'
import { postgresPrograms, startPostgres } from '../../../bench/postgres-server.ts'
import { eventually } from '../../support/eventually.ts'
import { redisProgram, startRedis } from '../../support/redis-server.ts'
import { aSilentProxy } from '../../support/silent-proxy.ts'

const OPENING = { connectMs: 5000, answerMs: 300, prefix: 'silent' }

/** More than there are connections at a time. */
const QUESTIONS = 20

const SERVERS = [
  ['Redis', redisProgram, startRedis, openRedis],
  ['PostgreSQL', postgresPrograms, startPostgres, openPostgres],
] as const

describe.each(SERVERS.slice(0, inject('isDeep') ? 2 : 1))('a queue in %s', (_name, program, start, open) => {
  test.skipIf(program() === undefined)(
    'answers again after its connections were dropped without a word to either end',
    async () => {
      const server = await start()
      onTestFinished(() => server.close())
      const address = new URL(server.url)
      const proxy = await aSilentProxy(Number(address.port))
      const store = await open(Object.assign(address, { port: String(proxy.port) }).href, OPENING)
      onTestFinished(() => store.close())
      await store.loadFactory()
      await store.write()

      const asked = Promise.allSettled(Array.from({ length: QUESTIONS }, () => store.values.read('nothing')))
      proxy.silence()
      await asked

      await eventually(
        () =>
          store.write().then(
            () => 'written',
            () => 'refused',
          ),
        (answer) => answer === 'written',
      )
      expect(await store.values.read('nothing')).toBeUndefined()
    },
  )
})
