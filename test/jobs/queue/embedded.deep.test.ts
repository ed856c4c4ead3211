import { chmodSync, readdirSync, statSync } from 'node:fs'
import { type Socket, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../../jobs/queue/embedded.ts'
import { listenHere } from '../../support/fault-server.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace, prepareQueue, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'
import { expectWhole, startWorker, startWorkerProcess } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

test('every file of an embedded queue is private, also those of one from before', async () => {
  const queue = join(temporaryFolder(), 'queue')
  prepareQueue(queue)
  chmodSync(join(queue, 'postgres'), 0o755)
  chmodSync(join(queue, 'postgres', 'PG_VERSION'), 0o666)
  const opened = await openEmbedded(queue, 'customer-mirror')
  const found = readdirSync(join(queue, 'postgres'), { recursive: true, encoding: 'utf8' })
  const open = found.filter((name) => (statSync(join(queue, 'postgres', name)).mode & 0o077) !== 0)
  await opened.close()

  expect(found.length).toBeGreaterThan(400)
  expect(open).toEqual([])
  expect(statSync(join(queue, 'postgres')).mode & 0o777).toBe(0o700)
})

test('the worker that starts after one was killed goes on with its runs at once', async () => {
  const gate = aGate({ fromPage: 4 })
  const sandbox = await aSandbox({ customers: [500], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }), { queue: 'embedded' })
  const timings = { lockMs: 3_600_000, stalledMs: 3_600_000 }
  const killed = startWorkerProcess(place, { timings })
  await gate.reached
  killed.send('SIGKILL')
  await killed.ended
  gate.open()
  await startWorker(place, { timings }).ran('acme')

  expectWhole(place.mirror, 500)
  expect(rowsOf(place.mirror, 'SELECT status, resumed_from FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', resumed_from: null },
    { status: 'complete', resumed_from: 1 },
  ])
})

test('a PostgreSQL that accepts connections and answers nothing is reported, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => closed.resolve())
    // It is ready for queries: https://www.postgresql.org/docs/current/protocol-message-formats.html
    socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])))
  })
  const address = `postgres://127.0.0.1:${await listenHere(server, new Set<Socket>())}/x`

  await expect(someQueues(address, '/nowhere/customers.db')).rejects.toMatchObject({
    code: 'queue',
    message: expect.stringContaining('does not answer'),
  })
  await closed.promise
})
