import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { listenHere } from '../../support/fault-server.ts'
import { someQueues } from '../../support/jobs-workplace.ts'

test('a PostgreSQL that accepts connections and answers nothing is reported, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => closed.resolve())
    // It is ready for queries: https://www.postgresql.org/docs/current/protocol-message-formats.html
    socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])))
  })
  const address = `postgres://127.0.0.1:${await listenHere(server, new Set<Socket>())}/x`

  await expect(someQueues(address, '/nowhere/customers.db')).rejects.toMatchObject({
    code: 'queue',
    message: expect.stringContaining('does not answer'),
  })
  await closed.promise
})
