import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { QueueClient } from '../../jobs/queue/postgres.ts'
import { MirrorClient } from '../../src/store/port/postgres-connections.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test.each([
  ['the mirror', MirrorClient],
  ['the queue', QueueClient],
])('a connection to %s is closed at once where there is no password for it', async (_what, Client) => {
  const { port, connected } = await aServerThatWaitsForAPassword()
  const before = process.env['PGPASSFILE']
  process.env['PGPASSFILE'] = temporaryFolder()
  onTestFinished(() => {
    if (before === undefined) delete process.env['PGPASSFILE']
    else process.env['PGPASSFILE'] = before
  })
  const client = new Client({ host: '127.0.0.1', port, user: 'ann', database: 'crm', password: '' })

  await expect(client.connect()).rejects.toThrow('password must be a string')

  const socket = await connected
  onTestFinished(() => void socket.destroy())
  expect(await eventually(() => socket.closed, Boolean)).toBe(true)
})

/** A server that asks for a password by SCRAM, and waits for it longer than any test. */
async function aServerThatWaitsForAPassword(): Promise<{ port: number; connected: Promise<Socket> }> {
  const server = createServer()
  const connected = new Promise<Socket>((resolve) => {
    server.on('connection', (socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write(asked(10, 'SCRAM-SHA-256\0\0'))
        socket.once('data', () => {
          socket.write(asked(11, 'r=none,s=none,i=4096'))
          socket.resume()
        })
      })
      resolve(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  // A server on a port has one.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { port: (server.address() as AddressInfo).port, connected }
}

/** A message of PostgreSQL about the login. */
function asked(step: number, text: string): Buffer {
  const body = Buffer.concat([Buffer.from([0, 0, 0, step]), Buffer.from(text)])
  const head = Buffer.alloc(5)
  head.write('R')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
