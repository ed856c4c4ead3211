import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { oneStatement, postgresPrograms, type PostgresServer } from '../../../../bench/postgres-server.ts'
import { probeQueue } from '../../../../jobs/queue/backend.ts'
import { openBackend } from '../../../../jobs/queue/backend.ts'
import type { Backend } from '../../../../jobs/queue/port.ts'
import { QueueClient, queueSettings } from '../../../../jobs/queue/postgres.ts'
import { openQueues } from '../../../../jobs/queue/queues.ts'
import { aPooler, type Pooling } from '../../../support/postgres/pooler.ts'
import { startQuickPostgres } from '../../../support/postgres/quick-server.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

/** More at once than most of them would get through in a stricter isolation. */
const ORGANIZATIONS = Array.from({ length: 12 }, (_, at) => `organization-${at}`)

describe.skipIf(postgresPrograms() === undefined)('a queue in PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => (server = await startQuickPostgres()))
  afterAll(() => server.close())

  test('is used through a pooler in session mode', async () => {
    const address = await through(server, { mode: 'session' })

    expect((await probeQueue(address)).place).toContain('postgres://127.0.0.1')
    const { requestSync } = openQueues(await opened(address))
    expect(await requestSync('acme', 'manual')).toMatchObject({ added: true })
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
    const { requestSync } = openQueues(await opened(Object.assign(new URL(server.url), { username: 'strict' }).href))

    const requested = await Promise.all(ORGANIZATIONS.map((id) => requestSync(id, 'manual')))

    expect(requested.every(({ added }) => added)).toBe(true)
  })

  test('is not taken for one that answers where its database cannot hold every text, or its user may not make the schema', async () => {
    await oneStatement(server.url, `CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'`)
    await oneStatement(server.url, 'CREATE DATABASE strangers')
    await oneStatement(server.url, 'CREATE ROLE stranger LOGIN')
    const at = (parts: Partial<URL>) => Object.assign(new URL(server.url), parts).href

    await expect(probeQueue(at({ pathname: '/latin' }))).rejects.toMatchObject({
      code: 'queue',
      message: expect.stringMatching(/stores text as LATIN1.*ENCODING 'UTF8'/),
    })
    await expect(probeQueue(at({ pathname: '/strangers', username: 'stranger' }))).rejects.toMatchObject({
      code: 'queue',
      message: expect.stringMatching(
        /permission denied to make or to use the schema bullmq.*its user needs all rights/,
      ),
    })
  })

  test('is not taken for one that answers where it takes no writes', async () => {
    await oneStatement(server.url, 'CREATE ROLE reader LOGIN')
    await oneStatement(server.url, 'ALTER ROLE reader SET default_transaction_read_only = on')
    const address = Object.assign(new URL(server.url), { username: 'reader' }).href

    await expect(probeQueue(address)).rejects.toMatchObject({
      code: 'queue',
      message: expect.stringMatching(/read-only.* Start that server, or repair there/),
    })
  })

  test('is opened without the right to make its schema once that is there', async () => {
    await oneStatement(server.url, 'CREATE ROLE maker LOGIN')
    const address = Object.assign(new URL(server.url), { username: 'maker', pathname: '/of_maker' }).href
    await oneStatement(server.url, 'CREATE DATABASE of_maker')
    const owned = Object.assign(new URL(server.url), { pathname: '/of_maker' }).href
    await oneStatement(owned, 'GRANT CREATE ON DATABASE of_maker TO maker')
    await (await opened(address)).close()
    await oneStatement(owned, 'REVOKE CREATE ON DATABASE of_maker FROM maker')

    const { requestSync } = openQueues(await opened(address))

    expect(await requestSync('acme', 'manual')).toMatchObject({ added: true })
  })

  test('ends no process when the server ends a connection that a statement uses', async () => {
    const client = new QueueClient(queueSettings(server.url))
    expect(client.listenerCount('error')).toBeGreaterThan(0)
    await client.connect()
    const ended = new Promise((resolve) => client.once('end', resolve))

    await expect(client.query('SELECT pg_terminate_backend(pg_backend_pid())')).rejects.toMatchObject({ code: '57P01' })
    await ended
  })

  test('keeps its connections where its role has unused ones ended', async () => {
    await oneStatement(
      server.url,
      `CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET idle_session_timeout = '1s'`,
    )
    const backend = await opened(Object.assign(new URL(server.url), { username: 'hasty' }).href)
    const kept = `SELECT FROM pg_stat_activity WHERE usename = 'hasty' AND state = 'idle'`
    await backend.write()

    await oneStatement(server.url, 'SELECT pg_sleep(1.5)')

    await oneStatement(server.url, `DO $$ BEGIN ASSERT EXISTS (${kept}); END $$`)
  })
})

async function opened(address: string): Promise<Backend> {
  const backend = await openBackend(address, { folder: temporaryFolder() })
  onTestFinished(() => backend.close())
  return backend
}

async function through({ url }: PostgresServer, pooling: Pooling): Promise<string> {
  const address = new URL(url)
  return Object.assign(address, { port: String(await aPooler(Number(address.port), pooling)) }).href
}
