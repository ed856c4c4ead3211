import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { oneStatement, postgresPrograms, type PostgresServer } from '../../../bench/postgres-server.ts'
import { openBackend, parseAddress, probeQueue } from '../../../jobs/queue/backend.ts'
import type { Backend } from '../../../jobs/queue/port.ts'
import { QueueClient, queueSettings } from '../../../jobs/queue/postgres.ts'
import { openQueues } from '../../../jobs/queue/queues.ts'
import { listenHere } from '../../support/fault-server.ts'
import { startQuickPostgres } from '../../support/postgres/server.ts'
import { temporaryFolder } from '../../support/mirror-file.ts'

/** More at once than most of them would get through in a stricter isolation. */
const ORGANIZATIONS = Array.from({ length: 12 }, (_, at) => `organization-${at}`)

const MODE = /transaction mode.*pool_mode = session/
const SIZE = /pooler there has fewer than 4 connections.*default_pool_size = 10/

const STRANGER = 'CREATE ROLE stranger LOGIN'
const READ_ONLY = 'ALTER DATABASE read_only SET default_transaction_read_only = on'
const LATIN = `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`

describe.skipIf(postgresPrograms() === undefined)('a queue in PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startQuickPostgres()
    for (const made of [STRANGER, 'CREATE DATABASE empty', 'CREATE DATABASE read_only', READ_ONLY, LATIN])
      await oneStatement(server.url, made)
  })
  afterAll(() => server.close())

  test('is used through a pooler in session mode', async () => {
    const address = await through(server, { mode: 'session' })

    expect((await probeQueue(address)).place).toContain('postgres://127.0.0.1')
    const { request } = openQueues(await opened(address))
    expect(await request('sync', 'acme', 'manual')).toBe('added')
  })

  test.each<[string, Pooling, RegExp]>([
    ['gives each transaction the connection that was used last', { mode: 'transaction', gives: 'last' }, MODE],
    ['gives each transaction the one that has waited longest', { mode: 'transaction', gives: 'first' }, MODE],
    ['has fewer connections than a worker needs', { mode: 'session', size: 3 }, SIZE],
  ])('is refused through a pooler that %s', async (_which, pooling, said) => {
    const address = await through(server, pooling)
    const refused = { code: 'queue', message: expect.stringMatching(said) }

    await expect(probeQueue(address)).rejects.toMatchObject(refused)
    if (said === MODE) await expect(opened(address)).rejects.toMatchObject(refused)
  })

  test('takes requests of many organizations at once where its role has a stricter isolation', async () => {
    await oneStatement(server.url, 'CREATE ROLE strict SUPERUSER LOGIN')
    await oneStatement(server.url, `ALTER ROLE strict SET default_transaction_isolation = 'serializable'`)
    const { request } = openQueues(await opened(Object.assign(new URL(server.url), { username: 'strict' }).href))

    const requested = await Promise.all(ORGANIZATIONS.map((id) => request('sync', id, 'manual')))

    expect(requested.every((state) => state === 'added')).toBe(true)
  })

  test('is opened without the right to make its schema once that is there', async () => {
    await oneStatement(server.url, 'CREATE ROLE maker LOGIN')
    const address = Object.assign(new URL(server.url), { username: 'maker', pathname: '/of_maker' }).href
    await oneStatement(server.url, 'CREATE DATABASE of_maker')
    const owned = Object.assign(new URL(server.url), { pathname: '/of_maker' }).href
    await oneStatement(owned, 'GRANT CREATE ON DATABASE of_maker TO maker')
    await opened(address)
    await oneStatement(owned, 'REVOKE CREATE ON DATABASE of_maker FROM maker')

    const { request } = openQueues(await opened(address))

    expect(await request('sync', 'acme', 'manual')).toBe('added')
  })

  test.each([
    ['a user without rights to its schema', { username: 'stranger' }, 'permission denied for schema bullmq'],
    ['a user who may not make one', { username: 'stranger', pathname: '/empty' }, 'permission denied for database'],
    ['a database that can only be read', { pathname: '/read_only' }, 'in a read-only transaction'],
    ['a database in another encoding', { pathname: '/latin' }, 'its database is in LATIN1, not in UTF8'],
  ])('is refused with %s, by check too', async (_what, change, said) => {
    await opened(server.url)
    const address = Object.assign(new URL(server.url), change).href

    for (const use of [probeQueue, opened]) await expect(use(address)).rejects.toThrow(said)
  })

  test.each([
    ['57P01', 'SELECT pg_terminate_backend(pg_backend_pid())'],
    ['25006', 'BEGIN READ ONLY; CREATE TABLE refused ()'],
  ])('ends a connection, and no process, where the server ends it or takes no writes: %s', async (code, sql) => {
    const client = new QueueClient(queueSettings(server.url))
    expect(client.listenerCount('error')).toBeGreaterThan(0)
    await client.connect()
    const ended = new Promise((resolve) => client.once('end', resolve))

    await expect(client.query(sql)).rejects.toMatchObject({ code })
    await ended
  })
})

test.each([
  ['127.0.0.1', '', false],
  ['127.0.0.1', '?sslmode=require', true],
  ['127.0.0.1', '?sslmode=verify-full&prefix=other', true],
  ['db.example', '', true],
  ['db.example', '?sslmode=disable', false],
])('the address of a queue decides about TLS as that of a mirror does: %s%s', (host, query, isAsked) => {
  const { url } = parseAddress(`postgres://mirror@${host}/queue${query}`)

  expect(queueSettings(url.href).ssl !== false).toBe(isAsked)
})

async function opened(address: string): Promise<Backend> {
  const backend = await openBackend(address, { folder: temporaryFolder() })
  onTestFinished(() => backend.close())
  return backend
}

/** How a pooler such as PgBouncer gives out its connections, `size` at most; to a transaction the one that was used last, or first. */
type Pooling = { mode: 'session' | 'transaction'; gives?: 'last' | 'first'; size?: number }

/** The address of a pooler in front of a server, until the test ends. It refuses the parameter `options`, as PgBouncer does. */
async function through({ url }: PostgresServer, { mode, gives = 'last', size = Infinity }: Pooling): Promise<string> {
  const address = new URL(url)
  const [port, open, free] = [Number(address.port), new Set<Socket>(), new Array<Socket>()]
  let servers = 0
  const inTransaction = async (client: Socket, sent: Buffer) => {
    const server = gives === 'last' ? free.pop() : free.shift()
    if (server === undefined) return
    server.write(sent)
    client.write(await answerOf(server))
    free.push(server)
  }
  const greet = async (client: Socket, first: Buffer) => {
    if (first.includes('\0options\0')) return client.end(REFUSED)
    if ((servers += 1) > size) return undefined
    const server = connect(port, '127.0.0.1').on('error', () => {})
    open.add(server)
    server.write(first)
    const welcome = await answerOf(server)
    // A pooler gives its clients numbers of its own.
    welcome.writeInt32BE(1, welcome.indexOf(NUMBER) + NUMBER.length)
    client.write(welcome)
    if (mode === 'session') {
      client.on('close', () => server.destroy())
      return server.pipe(client.on('data', (sent: Buffer) => sent[0] !== GOODBYE && server.write(sent)))
    }
    free.push(server)
    return client.on('data', (sent: Buffer) => sent[0] !== GOODBYE && void inTransaction(client, sent))
  }
  const pooler = createServer((client) =>
    client.on('error', () => {}).once('data', (first: Buffer) => void greet(client, first)),
  )
  return Object.assign(address, { port: String(await listenHere(pooler, open)) }).href
}

async function answerOf(server: Socket): Promise<Buffer> {
  let answer = Buffer.alloc(0)
  do answer = Buffer.concat([answer, ...(await once(server, 'data'))])
  while (!answer.subarray(-READY.length).equals(READY))
  return answer
}

const NUMBER = Buffer.from('K\0\0\0\u000C', 'latin1')

/** The server waits for a statement, outside a transaction. */
const READY = Buffer.from('Z\0\0\0\u0005I', 'latin1')
const GOODBYE = 'X'.charCodeAt(0)

const SAID = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0', 'latin1')
const REFUSED = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, SAID.length + 4]), SAID])
