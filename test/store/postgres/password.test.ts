import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { openPool } from '../../../src/store/port/postgres-connections.ts'

test('a server that asks for the password gets that of the address', async () => {
  const { port, given } = await serverThatAsks()
  const pool = openPool(`postgres://ann:hun%2Fter2@127.0.0.1:${port}/crm`)
  onTestFinished(() => pool.end())

  await expect(pool.connect()).rejects.toThrow('Connection terminated')

  expect(given).toEqual(['hun/ter2'])
})

/** A server that asks each connection for its password in the clear, and ends it then. */
async function serverThatAsks(): Promise<{ port: number; given: string[] }> {
  const given: string[] = []
  const server: Server = createServer((connection) => {
    connection.once('data', () => {
      connection.write(Buffer.from([ASK_FOR_PASSWORD, 0, 0, 0, 8, 0, 0, 0, 3]))
      connection.once('data', (message) => {
        given.push(message.subarray(5, -1).toString())
        connection.end()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return { port: address.port, given }
}

const ASK_FOR_PASSWORD = 'R'.charCodeAt(0)
