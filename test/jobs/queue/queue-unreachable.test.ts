import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { freePort } from '../../../bench/free-port.ts'
import { askQueue } from '../../../jobs/queue/backend.ts'
import { onThisMachine } from '../../support/eventually.ts'
import { someQueues } from '../../support/jobs-workplace.ts'
import { listenHere } from '../../support/silent-proxy.ts'

const PASSWORD = 'made-up-password-of-the-queue'

test.each(['redis', 'postgres'])(
  'an unreachable %s is reported within three seconds, without its password',
  async (kind) => {
    const address = `${kind}://user:${PASSWORD}@127.0.0.1:${await freePort()}/0`
    const startedMs = performance.now()

    const failure: unknown = await someQueues(address, '/nowhere/customers.db').catch((error: unknown) => error)

    expect(performance.now() - startedMs).toBeLessThan(onThisMachine(3000))
    expect(failure).toMatchObject({ code: 'queue', message: expect.stringContaining('ECONNREFUSED') })
    expect(JSON.stringify([failure, String(failure)])).not.toContain(PASSWORD)
    expect(failure).not.toHaveProperty('cause')
  },
)

test('a command waits for a server that answers nothing no longer than asked', async () => {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('error', () => {}).resume()
  })
  const address = `redis://127.0.0.1:${await listenHere(server, open)}`
  const startedMs = performance.now()

  expect(await askQueue(address, 300, ({ values }) => values.list(''))).toBeUndefined()
  expect(performance.now() - startedMs).toBeLessThan(onThisMachine(1000))
})
