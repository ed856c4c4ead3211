import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { passwordFor } from '../../src/address/postgres-login.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const LOGIN = { host: 'db.test', port: 5432, database: 'crm', user: 'ann' }

test.each([
  ['the first line that fits', 'db.test:5432:crm:ann:first\n*:*:*:*:second', 'first'],
  ['no line of another port, database or user', 'db.test:5433:crm:ann:a\n*:*:hr:*:b\n*:*:*:bob:c\n*:*:*:*:d', 'd'],
  ['no line that begins with #', '#b.test:*:*:*:a\r\n*:*:*:*:b\r\n', 'b'],
  ['colons and backslashes that are escaped', String.raw`*:*:*:*:a\:b\\c`, String.raw`a:b\c`],
  ['nothing where no line is whole', 'db.test:5432:crm:ann\n\n:', undefined],
])('a password file gives %s', (_what, text, password) => {
  expect(passwordFor(LOGIN, text)).toBe(password)
})

test('a socket is found under its folder, and as localhost', () => {
  const login = { ...LOGIN, host: '/var/run/postgresql' }

  expect(passwordFor(login, 'localhost:*:*:*:a')).toBe('a')
  expect(passwordFor(login, '/var/run/postgresql:*:*:*:b')).toBe('b')
})

test('the server gets the password of the file without a warning of the driver, and none from a file that is open to others', async () => {
  const warnings: string[] = []
  const warned = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  const { port, passwords } = await aServerThatAsks()
  const file = join(temporaryFolder(), 'passwords')
  writeFileSync(file, `*:${port}:crm:ann:hunter2\n*:*:*:*:other\n`, { mode: 0o600 })
  const ask = () =>
    runCli(['sql', '--mirror', `postgres://ann@127.0.0.1:${port}/crm`, 'SELECT 1'], {
      cwd: temporaryFolder(),
      env: { PGPASSFILE: file },
    })

  const refused = await ask()
  chmodSync(file, 0o640)
  const unsafe = await ask()

  expect(passwords).toEqual(['hunter2'])
  expect(refused).toMatchObject({ code: 7, stdout: '', stderr: expect.stringMatching(/PGPASSWORD or ~\/\.pgpass/) })
  expect(unsafe).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(`chmod 600 ${file}`) })
  expect(refused.stderr + unsafe.stderr).not.toContain('hunter2')
  expect(warnings).toEqual([])
})

/** A server that asks for a password, and refuses it. */
async function aServerThatAsks(): Promise<{ port: number; passwords: string[] }> {
  const passwords: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(answer('R', Buffer.from([0, 0, 0, 3])))
      socket.once('data', (sent) => {
        if (sent.toString('latin1', 0, 1) === 'p') passwords.push(sent.toString('utf8', 5, sent.length - 1))
        socket.end(answer('E', Buffer.from('SFATAL\0C28P01\0Mrefused\0\0')))
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('it has no port')
  return { port: address.port, passwords }
}

function answer(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5, type)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
