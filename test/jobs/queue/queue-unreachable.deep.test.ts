import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { askQueue } from '../../../jobs/queue/backend.ts'
import { someQueues } from '../../support/jobs-workplace.ts'

const silentPostgres: [what: string, ask: (address: string) => Promise<unknown>, failure: object][] = [
  [
    'is reported, and its connection is closed',
    (address) => someQueues(address, '/nowhere/customers.db'),
    { code: 'queue', message: expect.stringContaining('does not answer') },
  ],
  ['does not keep what only reads its values waiting', readPausesAt, { message: expect.stringContaining('timeout') }],
]

test.each(silentPostgres)('a PostgreSQL that accepts connections and answers nothing %s', async (_, ask, expected) => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => closed.resolve())
    // It is ready for queries: https://www.postgresql.org/docs/current/protocol-message-formats.html
    socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const at = server.address()
  const port = typeof at === 'object' ? at?.port : undefined

  const failure: unknown = await ask(`postgres://127.0.0.1:${port}/x`).catch((error: unknown) => error)

  expect(failure).toMatchObject(expected)
  await closed.promise
})

async function readPausesAt(address: string): Promise<unknown> {
  const answer = await askQueue(address, 1000, ({ values }) => values.list('pause:'))
  if (answer === undefined) throw new Error('timeout')
  return answer
}
