import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { QueueClient } from '../jobs/queue/postgres.ts'
import { passwordFor } from '../src/address/postgres-login.ts'
import { openMirrorToRead } from '../src/store/mirror.ts'
import { MirrorClient, openPool } from '../src/store/port/postgres-connections.ts'
import { listenHere } from './support/fault-server.ts'
import { temporaryFolder } from './support/mirror-file.ts'

const LOGIN = { host: 'db.test', port: 5432, database: 'crm', user: 'ann' }

test.each([
  ['the first line that fits', 'db.test:5432:crm:ann:first\n*:*:*:*:second', 'first'],
  ['none of another port, database or user', 'db.test:5433:crm:ann:a\n*:*:hr:*:b b\n*:*:*:bob:c c\n*:*:*:*:d d', 'd d'],
  ['no line that begins with #', '#*:*:*:*:a a\r\n*:*:*:*:b b\r\n', 'b b'],
  ['colons and backslashes that are escaped', String.raw`*:*:*:*:a\:b\\c`, String.raw`a:b\c`],
  ['that of a socket, by its folder', '/run:*:*:*:first\n*:*:*:*:second', 'first', '/run'],
  ['that of a socket, as localhost', 'localhost:*:*:*:first', 'first', '/run'],
  ['nothing where no line is whole', 'db.test:5432:crm:ann\n\n:', undefined],
])('a password file gives %s', (_what, text, password, host = LOGIN.host) => {
  expect(passwordFor({ ...LOGIN, host }, text)).toBe(password)
})

test('the server gets the password of the file without a warning of the driver, none from a file that is open to others, and that of the address', async () => {
  const warnings: string[] = []
  const warned = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  // It asks each connection for its password in the clear, and refuses it.
  const { port, sent } = await aServer(asked(3, ''), messageOf('E', Buffer.from('SFATAL\0C28P01\0Mrefused\0\0')))
  const given = () => sent.filter((bytes) => bytes.toString('latin1', 0, 1) === 'p')
  const passwords = () => given().map((bytes) => bytes.toString('utf8', 5, bytes.length - 1))
  const file = join(temporaryFolder(), 'passwords')
  writeFileSync(file, `*:${port}:crm:ann:hunter2\n*:*:*:*:other\n`, { mode: 0o600 })
  stubEnvironment('PGPASSFILE', file)
  const ask = () => openMirrorToRead(`postgres://ann@127.0.0.1:${port}/crm`).catch((error: unknown) => error)

  const refused = await ask()
  chmodSync(file, 0o640)
  const unsafe = await ask()
  expect(passwords()).toEqual(['hunter2'])
  const pool = openPool(`postgres://ann:hun%2Fter2@127.0.0.1:${port}/crm`)
  onTestFinished(() => pool.end())
  await expect(pool.connect()).rejects.toThrow('refused')

  expect(passwords()).toEqual(['hunter2', 'hun/ter2'])
  expect(refused).toMatchObject({ code: 'denied', message: expect.stringMatching(/PGPASSWORD or ~\/\.pgpass/) })
  expect(unsafe).toMatchObject({ code: 'usage', message: expect.stringContaining(`chmod 600 ${file}`) })
  expect(String(refused) + String(unsafe)).not.toContain('hunter2')
  expect(warnings).toEqual([])
})

test.each([
  ['the mirror', MirrorClient],
  ['the queue', QueueClient],
])('a connection to %s is closed at once where there is no password for it', async (_what, Client) => {
  const { port, connected } = await aServer(asked(10, 'SCRAM-SHA-256\0\0'), asked(11, 'r=none,s=none,i=4096'))
  stubEnvironment('PGPASSFILE', temporaryFolder())
  const client = new Client({ host: '127.0.0.1', port, user: 'ann', database: 'crm', password: '' })

  await expect(client.connect()).rejects.toThrow('password must be a string')

  const socket = await connected
  await expect.poll(() => socket.closed).toBe(true)
})

function stubEnvironment(name: string, value: string): void {
  vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

/** A server that gives these answers to what comes, waits then, and keeps what it got. */
async function aServer(...answers: readonly Buffer[]) {
  const sent: Buffer[] = []
  const connected = Promise.withResolvers<Socket>()
  const server = createServer((socket) => {
    let answered = 0
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      sent.push(bytes)
      const answer = answers[answered]
      answered += 1
      if (answer?.toString('latin1', 0, 1) === 'E') socket.end(answer)
      else if (answer !== undefined) socket.write(answer)
    })
    connected.resolve(socket)
  })
  return { port: await listenHere(server), sent, connected: connected.promise }
}

/** A message of PostgreSQL about the login. */
function asked(step: number, text: string): Buffer {
  return messageOf('R', Buffer.concat([Buffer.from([0, 0, 0, step]), Buffer.from(text)]))
}

function messageOf(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5, type)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
