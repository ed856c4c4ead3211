import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import { Texts, type Connections, type Database } from '../../../src/store/port/postgres-session.ts'
import type { Run } from '../../../src/model/run.ts'
import { through } from '../../support/breaking-connections.ts'
import { aCustomer, anEnding, aPage, customerId, customers, START_MS } from '../../support/builders.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'

/* An organization without rows: only customers that the run itself has saved are looked up. */

let database: Database
let mirror: Mirror
let organization = ''
let organizations = 0

/** How many ids each look-up asked for. */
let asked: number[] = []

beforeAll(async () => {
  const server = await startPglite()
  const connect = () => counting(pgliteConnections(server))
  database = await openDatabase(await anEmptyMirror(), 'write', { connect })
  mirror = mirrorOf(database)
})
beforeEach(() => {
  organizations += 1
  organization = `acme-${organizations}`
  asked = []
})

test('looks up those that it has saved, and a duplicate of them is one', async () => {
  const run = await start()
  await save(run, 1, customers(1, 200))
  await save(run, 2, customers(201, 400))
  await save(run, 3, [...customers(150, 152), ...customers(401, 403)])
  const report = await mirror.finishRun(run, anEnding(), START_MS)

  expect(report).toMatchObject({ received: 406, inserted: 403, duplicates: 3, updated: 0 })
  expect(asked).toEqual([200, expect.toSatisfy((count: number) => count < 5), 3])
  expect(await rows('SELECT count(*) AS count, max(row_id) AS last FROM customers WHERE organization = $1')).toEqual([
    { count: 403, last: 403 },
  ])
})

test('looks up all of them in the next run, also after one that failed', async () => {
  const failed = await start()
  await save(failed, 1, customers(1, 20))
  await mirror.finishRun(failed, anEnding({ status: 'failed' }), START_MS)
  const run = await start()
  await save(run, 1, customers(1, 10))
  await save(run, 2, customers(11, 30))
  const report = await mirror.finishRun(run, anEnding(), START_MS)

  expect(asked).toEqual([20, 10, 20])
  expect(report).toMatchObject({ received: 30, inserted: 10, unchanged: 20 })
})

test('decides again about a customer that another program inserted, and looks up all', async () => {
  const run = await start()
  await save(run, 1, customers(1, 2))
  await write(`INSERT INTO customers (row_id, organization, id, name, first_seen_at, changed_at, last_run_id, updated_at)
    SELECT 99, organization, '${customerId(4)}', 'By hand', first_seen_at, changed_at, last_run_id, updated_at
    FROM customers WHERE organization = $1 AND row_id = 1`)
  await save(run, 2, customers(3, 4))
  await mirror.finishRun(run, anEnding(), START_MS)

  expect(asked).toEqual([2, 0, 2])
  expect(await rows('SELECT row_id, name FROM customers WHERE organization = $1 ORDER BY row_id')).toEqual([
    { row_id: 1, name: 'Customer 1' },
    { row_id: 2, name: 'Customer 2' },
    { row_id: 99, name: 'Customer 4' },
    { row_id: 100, name: 'Customer 3' },
  ])
})

test('takes a customer whom another program inserted as removed for one that is listed, where its record is rejected', async () => {
  const run = await start()
  await save(run, 1, customers(1, 2))
  await write(`INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, removed_at, last_run_id, updated_at)
    SELECT 99, organization, '${customerId(4)}', first_seen_at, changed_at, changed_at, last_run_id, updated_at
    FROM customers WHERE organization = $1 AND row_id = 1`)
  await save(run, 2, [aCustomer(3), aCustomer(4, { email: {} })])

  expect(await mirror.finishRun(run, anEnding(), START_MS)).toMatchObject({ inserted: 3, rejected: 1, returned: 1 })
  expect(asked).toEqual([2, 1])
  expect(await rows('SELECT row_id FROM customers WHERE organization = $1 AND removed_at IS NOT NULL')).toEqual([])
})

test('says that a unique index that someone added is in the way', async () => {
  await write(`CREATE UNIQUE INDEX added ON customers (language) WHERE organization = '${organization}'`)
  const run = await start()

  await expect(save(run, 1, customers(1, 2, { language: 'en' }))).rejects.toMatchObject({
    code: 'foreign',
    message: expect.stringContaining('table customers, constraint added (SQLSTATE 23505)'),
  })

  await write('DROP INDEX added')
  await save(run, 1, [aCustomer(1)])
  expect(await mirror.finishRun(run, anEnding(), START_MS)).toMatchObject({ inserted: 1 })
})

function start(): Promise<Run> {
  return mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS })
}

function save(run: Run, number: number, records: readonly unknown[]) {
  return mirror.savePages(run, [aPage(number, records)], START_MS)
}

/** $1 is the organization. */
function rows(sql: string) {
  return database.read((session) => session.all(sql, organization))
}

function write(sql: string) {
  return database.write((session) => session.run(sql, ...(sql.includes('$1') ? [organization] : [])))
}

function counting(connections: Connections): Connections {
  return through(connections, (client, sql, parameters) => {
    const ids = parameters?.[1]
    if (sql.trim().startsWith('SELECT last.row_id') && ids instanceof Texts) asked.push(ids.values.length)
    return client.query(sql, parameters)
  })
}
