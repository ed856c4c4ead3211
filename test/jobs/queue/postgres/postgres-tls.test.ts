import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { probeQueue } from '../../../../jobs/queue/backend.ts'
import { openBackend } from '../../../../jobs/queue/backend.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

/** What a client sends first to ask for TLS: the length of the message, and a number of its own. */
const ASKS_FOR_TLS = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** A name of this machine that is not known as one, as if it were another machine. */
const ELSEWHERE = '0.0.0.0'

describe.each<[who: string, open: (address: string) => Promise<unknown>]>([
  ['to work with it', (address) => openBackend(address, { folder: temporaryFolder() })],
  ['to ask it for one thing', probeQueue],
])('the address of a queue is read as that of a mirror, %s', (_why, open) => {
  test.each([
    ['127.0.0.1', '', false],
    ['127.0.0.1', '?sslmode=disable', false],
    ['127.0.0.1', '?sslmode=require', true],
    ['127.0.0.1', '?sslmode=verify-full&prefix=other', true],
    [ELSEWHERE, '', true],
    [ELSEWHERE, '?sslmode=disable', false],
  ])('which decides about TLS: %s %s', async (host, query, asks) => {
    const server = await aServerWithoutTls()

    await expect(open(`postgres://mirror@${host}:${server.port}/queue${query}`)).rejects.toMatchObject({
      code: 'queue',
      message: expect.stringMatching(asks ? /does not support SSL/ : /queue/),
    })
    expect(server.first().subarray(0, 8).equals(ASKS_FOR_TLS)).toBe(asks)
  })

  test('and a file of certificates that is none is named, before the server is asked', async () => {
    const file = join(temporaryFolder(), 'authority.pem')
    const address = `postgres://mirror:hunter2@127.0.0.1:1/queue?sslmode=verify-full&sslrootcert=${file}`

    await expect(open(address)).rejects.toMatchObject({
      code: 'queue',
      message: `The queue cannot be used: sslrootcert names ${file}, which cannot be read (ENOENT). Correct it in the address.`,
    })
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
