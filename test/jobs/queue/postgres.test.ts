import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { oneStatement, postgresPrograms, type PostgresServer } from '../../../bench/postgres-server.ts'
import { openBackend, probeQueue } from '../../../jobs/queue/backend.ts'
import { parseAddress, type Backend } from '../../../jobs/queue/port.ts'
import { QueueClient, queueSettings } from '../../../jobs/queue/postgres.ts'
import { openQueues } from '../../../jobs/queue/queues.ts'
import { listenHere } from '../../support/fault-server.ts'
import { startQuickPostgres } from '../../support/postgres/server.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

/** More at once than most of them would get through in a stricter isolation. */
const ORGANIZATIONS = Array.from({ length: 12 }, (_, at) => `organization-${at}`)

describe.skipIf(postgresPrograms() === undefined)('a queue in PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => (server = await startQuickPostgres()))
  afterAll(() => server.close())

  test('is used through a pooler in session mode', async () => {
    const address = await through(server, { mode: 'session' })

    expect((await probeQueue(address)).place).toContain('postgres://127.0.0.1')
    const { request } = openQueues(await opened(address))
    expect(await request('sync', 'acme', 'manual')).toMatchObject({ added: true })
  })

  test.each<[string, Pooling]>([
    ['was used last', { mode: 'transaction', gives: 'last' }],
    ['has waited longest', { mode: 'transaction', gives: 'first' }],
  ])('is refused through a pooler that gives each transaction the connection that %s', async (_which, pooling) => {
    const address = await through(server, pooling)
    const refused = { code: 'queue', message: expect.stringMatching(/transaction mode.*pool_mode = session/) }

    await expect(probeQueue(address)).rejects.toMatchObject(refused)
    await expect(opened(address)).rejects.toMatchObject(refused)
  })

  test('is refused through a pooler that has fewer connections than a worker needs, which is named', async () => {
    const address = await through(server, { mode: 'session', size: 3 })

    await expect(probeQueue(address)).rejects.toMatchObject({
      code: 'queue',
      message: expect.stringMatching(/pooler there has fewer than 4 connections.*default_pool_size = 10/),
    })
  })

  test('takes requests of many organizations at once where its role has a stricter isolation', async () => {
    await oneStatement(server.url, 'CREATE ROLE strict SUPERUSER LOGIN')
    await oneStatement(server.url, `ALTER ROLE strict SET default_transaction_isolation = 'serializable'`)
    const { request } = openQueues(await opened(Object.assign(new URL(server.url), { username: 'strict' }).href))

    const requested = await Promise.all(ORGANIZATIONS.map((id) => request('sync', id, 'manual')))

    expect(requested.every(({ added }) => added)).toBe(true)
  })

  test('is opened without the right to make its schema once that is there', async () => {
    await oneStatement(server.url, 'CREATE ROLE maker LOGIN')
    const address = Object.assign(new URL(server.url), { username: 'maker', pathname: '/of_maker' }).href
    await oneStatement(server.url, 'CREATE DATABASE of_maker')
    const owned = Object.assign(new URL(server.url), { pathname: '/of_maker' }).href
    await oneStatement(owned, 'GRANT CREATE ON DATABASE of_maker TO maker')
    await (await opened(address)).close()
    await oneStatement(owned, 'REVOKE CREATE ON DATABASE of_maker FROM maker')

    const { request } = openQueues(await opened(address))

    expect(await request('sync', 'acme', 'manual')).toMatchObject({ added: true })
  })

  test('ends no process when the server ends a connection that a statement uses', async () => {
    const client = new QueueClient(queueSettings(server.url))
    expect(client.listenerCount('error')).toBeGreaterThan(0)
    await client.connect()
    const ended = new Promise((resolve) => client.once('end', resolve))

    await expect(client.query('SELECT pg_terminate_backend(pg_backend_pid())')).rejects.toMatchObject({ code: '57P01' })
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

/** How a pooler such as PgBouncer gives out its connections to the server. */
type Pooling = {
  /** A connection for each client, or for each transaction. */
  mode: 'session' | 'transaction'
  /** Which of those that are free is given first: the one that was used last, or first. */
  gives?: 'last' | 'first'
  /** The connections that it has to the server at most: further clients wait. */
  size?: number
}

type Pooler = Required<Pooling> & {
  servers: number
  port: number
  free: Socket[]
  open: Set<Socket>
  /** What clients introduce themselves with, and what a server answered. */
  startup: Buffer
  welcome: Buffer | undefined
}

/** The address of a pooler in front of a server, until the test ends. It refuses the parameter `options`, as PgBouncer does. */
async function through({ url }: PostgresServer, pooling: Pooling): Promise<string> {
  const { mode, gives = 'last', size = Infinity } = pooling
  const address = new URL(url)
  const [port, open] = [Number(address.port), new Set<Socket>()]
  const pooler: Pooler = {
    ...{ mode, gives, size, servers: 0, port, free: [], open, startup: Buffer.alloc(0), welcome: undefined },
  }
  const greet = async (client: Socket, first: Buffer) => {
    if (first.includes('\0options\0')) return client.end(REFUSED)
    pooler.startup = first
    serve(pooler, client)
    if (pooler.welcome === undefined) pooler.free.push(await aServer(pooler))
    return client.write(pooler.welcome ?? '')
  }
  const server = createServer((client) => {
    tracked(pooler, client).once('data', (first: Buffer) => void greet(client, first))
  })
  return Object.assign(address, { port: String(await listenHere(server, open)) }).href
}

/** Passes on what a client sends, in order, to the connection that it holds. */
function serve(pooler: Pooler, client: Socket): void {
  let held: Promise<Socket> | undefined
  const giveBack = (server: Socket) => {
    held = undefined
    server.removeAllListeners('data')
    pooler.free.push(server)
  }
  const hold = async () => {
    if (pooler.free.length === 0 && pooler.servers >= pooler.size) await new Promise(() => {})
    const server = (pooler.gives === 'last' ? pooler.free.pop() : pooler.free.shift()) ?? (await aServer(pooler))
    server.on('data', (answer: Buffer) => {
      if (pooler.mode === 'transaction' && answer.subarray(-READY.length).equals(READY)) giveBack(server)
      client.write(answer)
    })
    return server
  }
  client.on('data', (sent: Buffer) => {
    if (sent[0] === GOODBYE) return
    void (held ??= hold()).then((server) => server.write(sent))
  })
  client.on('close', () => void held?.then((server) => server.destroy()))
}

async function aServer(pooler: Pooler): Promise<Socket> {
  const { port, startup } = pooler
  pooler.servers += 1
  const server = tracked(pooler, connect(port, '127.0.0.1'))
  server.write(startup)
  let answer = Buffer.alloc(0)
  do answer = Buffer.concat([answer, ...(await once(server, 'data'))])
  while (!answer.subarray(-READY.length).equals(READY))
  // A pooler gives its clients numbers of its own.
  answer.writeInt32BE(1, answer.indexOf(NUMBER) + NUMBER.length)
  pooler.welcome ??= answer
  return server
}

const NUMBER = Buffer.from('K\0\0\0\u000C', 'latin1')

function tracked({ open }: Pick<Pooler, 'open'>, socket: Socket): Socket {
  open.add(socket)
  return socket.on('error', () => {}).on('close', () => open.delete(socket))
}

/** The server waits for a statement, outside a transaction. */
const READY = Buffer.from('Z\0\0\0\u0005I', 'latin1')
const GOODBYE = 'X'.charCodeAt(0)

const SAID = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0', 'latin1')
const REFUSED = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, SAID.length + 4]), SAID])
