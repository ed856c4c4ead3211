import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../../../jobs/queue/backend.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

/** What a client sends first to ask for TLS: the length of the message, and a number of its own. */
const ASKS_FOR_TLS = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

test.each([
  ['', false],
  ['?sslmode=disable', false],
  ['?sslmode=require', true],
  ['?sslmode=verify-full&prefix=other', true],
])('the address of a queue decides about TLS as that of a mirror: %s', async (query, asks) => {
  const server = await aServerWithoutTls()
  const opening = openBackend(`postgres://mirror@127.0.0.1:${server.port}/queue${query}`, { folder: temporaryFolder() })

  await expect(opening).rejects.toMatchObject({
    code: 'queue',
    message: expect.stringMatching(asks ? /no TLS/ : /queue/),
  })
  expect(server.first().subarray(0, 8).equals(ASKS_FOR_TLS)).toBe(asks)
})

test('a file of certificates that is none is named, before the server is asked', async () => {
  const file = join(temporaryFolder(), 'authority.pem')
  const address = `postgres://mirror:hunter2@127.0.0.1:1/queue?sslmode=verify-full&sslrootcert=${file}`
  const opening = openBackend(address, { folder: temporaryFolder() })

  await expect(opening).rejects.toMatchObject({
    code: 'queue',
    message: `The queue cannot be used: sslrootcert names ${file}, which cannot be read (ENOENT). Correct it in the address.`,
  })
})

/** A server that refuses TLS, and closes any other connection. */
async function aServerWithoutTls(): Promise<{ port: number; first: () => Buffer }> {
  let first: Buffer | undefined
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (data) => {
      first ??= data
      socket.end(data.subarray(0, 8).equals(ASKS_FOR_TLS) ? 'N' : '')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address: AddressInfo | string | null = server.address()
  return {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    first: () => first ?? Buffer.alloc(0),
  }
}
