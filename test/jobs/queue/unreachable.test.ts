import { createServer } from 'node:net'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { postgresPrograms, startPostgres } from '../../../bench/postgres-server.ts'
import { redisProgram, startRedis } from '../../../bench/redis-server.ts'
import { askQueue, probeQueue } from '../../../jobs/queue/backend.ts'
import { openPostgres } from '../../../jobs/queue/postgres.ts'
import { openRedis } from '../../../jobs/queue/redis.ts'
import { onThisMachine } from '../../support/eventually.ts'
import { aSilentProxy, listenHere } from '../../support/fault-server.ts'
import { someQueues } from '../../support/jobs-workplace.ts'

test('a command waits for a server that answers nothing no longer than asked', async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).resume())
  const address = `redis://127.0.0.1:${await listenHere(server)}`
  const startedMs = performance.now()

  expect(await askQueue(address, 300, ({ values }) => values.list(''))).toBeUndefined()
  expect(performance.now() - startedMs).toBeLessThan(onThisMachine(1000))
})

test('a Redis that ends each connection, as one with too many of them, is reported at once', async () => {
  const server = createServer((socket) => void socket.end('-ERR max number of clients reached\r\n'))
  const address = `redis://127.0.0.1:${await listenHere(server)}`

  await expect(probeQueue(address)).rejects.toThrow('Connection is closed')
})

test('a PostgreSQL that accepts connections and answers nothing is reported, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => closed.resolve())
    // It is ready for queries: https://www.postgresql.org/docs/current/protocol-message-formats.html
    socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])))
  })
  const address = `postgres://127.0.0.1:${await listenHere(server)}/x`

  await expect(someQueues(address, '/nowhere/customers.db')).rejects.toMatchObject({
    code: 'queue',
    message: expect.stringContaining('does not answer'),
  })
  await closed.promise
})

const OPENING = { answerMs: 300, prefix: 'silent' }

/** More than there are connections at a time. */
const QUESTIONS = 20

const SERVERS = [
  ['Redis', redisProgram, startRedis, openRedis],
  ['PostgreSQL', postgresPrograms, startPostgres, openPostgres],
] as const

describe.each(SERVERS.slice(0, inject('isDeep') ? 2 : 1))('a queue in %s', (_name, program, start, open) => {
  test.skipIf(program() === undefined)('answers again after connections were dropped without a word', async () => {
    const server = await start()
    onTestFinished(() => server.close())
    const address = new URL(server.url)
    const proxy = await aSilentProxy(Number(address.port))
    const store = await open(Object.assign(address, { port: String(proxy.port) }).href, OPENING)
    onTestFinished(() => store.close())
    await store.loadFactory()
    await store.values.write('a', 'b')

    const asked = Promise.allSettled(Array.from({ length: QUESTIONS }, () => store.values.read('nothing')))
    proxy.silence()
    await asked

    await expect.poll(() => store.values.write('a', 'b')).toBeUndefined()
    expect(await store.values.read('nothing')).toBeUndefined()
  })
})
