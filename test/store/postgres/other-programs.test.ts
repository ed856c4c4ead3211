import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Mirror } from '../../../src/model/mirror.ts'
import type { Ending, Run } from '../../../src/model/run.ts'
import type { Database } from '../../../src/store/port/postgres-connections.ts'
import { text } from '../../../src/store/port/sql.ts'
import { mirrorOf, openDatabase } from '../../../src/store/postgres/open-database.ts'
import { createReadingIndexes } from '../../../src/store/reading-indexes.ts'
import { aCustomer, anEnding, aPage, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { anEmptyMirror, pgliteConnections, startPglite, through } from '../../support/pglite-connections.ts'

/* What other programs and administrators do to the tables of a mirror, and to its server. */

let server: PGlite
let database: Database
let mirror: Mirror
let organization = ''
let organizations = 0

beforeAll(async () => {
  server = await startPglite()
  const connect = () => pgliteConnections(server)
  // As a server of another time sets them; a literal with a backslash, or NULL in an array, then means something else.
  await server.exec('SET standard_conforming_strings = off; SET array_nulls = off')
  database = await openDatabase(await anEmptyMirror(), 'write', { connect })
  mirror = mirrorOf(database)
})
afterAll(async () => {
  await server.exec('RESET standard_conforming_strings; RESET array_nulls')
})
beforeEach(() => {
  organizations += 1
  organization = `acme-${organizations}`
})

test('a text too long for an index of readers is stored, and so is every other one', async () => {
  const long = Array.from({ length: 1000 }, (_, at) => (at * 7919 * 7919).toString(36)).join('')
  await night([aCustomer(1)])
  await createReadingIndexes(database)
  expect(await indexes()).toHaveLength(3)

  const report = await night([aCustomer(1, { email: long }), aCustomer(2, { language: long })], 1)

  expect(report).toMatchObject({ status: 'complete', inserted: 1, updated: 1 })
  expect(
    await rows('SELECT email = $2 OR language = $2 AS is_long FROM customers WHERE organization = $1', long),
  ).toEqual([{ is_long: true }, { is_long: true }])
  await createReadingIndexes(database)
  expect(await indexes()).toEqual(['customers_by_update'])
})

test.each([
  ['that an administrator cancels once is tried again', 'canceling statement due to user request', 1, 'complete'],
  ['that an administrator cancels again and again fails', 'canceling statement due to user request', 2, 'busy'],
  ['that the server takes too long for is not tried again', 'canceling statement due to statement timeout', 1, 'busy'],
])('a save %s', async (_what, message, times, outcome) => {
  let cancelled = 0
  const connections = through(pgliteConnections(server), (client, sql, parameters) => {
    const isCancelled = sql.includes('INSERT INTO customers') && cancelled < times
    if (!isCancelled) return client.query(sql, parameters)
    cancelled += 1
    return client.query(`DO $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '57014'; END $$`)
  })
  const there = await openDatabase(database.place, 'write', { connect: () => connections })
  const run = await start()

  const saving = mirrorOf(there).savePages(run, [aPage(1, customers(1, 3))], START_MS)

  if (outcome === 'complete') expect(await saving).toMatchObject({ records: { inserted: 3 } })
  else await expect(saving).rejects.toMatchObject({ code: outcome, message: expect.stringContaining(message) })
  expect(await rows('SELECT count(*) AS count FROM customers WHERE organization = $1')).toEqual([
    { count: outcome === 'complete' ? 3 : 0 },
  ])
})

test('a run to which the server lost saved pages saves nothing more, and is not complete', async () => {
  const run = await start()
  await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS)
  await write('DELETE FROM customers WHERE organization = $1')
  await write('UPDATE runs SET pages = 0, received = 0, inserted = 0 WHERE organization = $1')

  await expect(mirror.savePages(run, [aPage(2, customers(4, 6))], START_MS)).rejects.toMatchObject({
    code: 'replaced',
  })
  await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject({ code: 'replaced' })

  expect(await rows('SELECT count(*) AS count FROM customers WHERE organization = $1')).toEqual([{ count: 0 }])
})

test('the number of a customer who was deleted by hand is given to no other while a list may refer to it', async () => {
  await night(customers(1, 3))
  await write('DELETE FROM customers WHERE organization = $1 AND row_id >= 2')

  await night(customers(3, 5), 1)

  expect(await rows('SELECT row_id, name FROM customers WHERE organization = $1 ORDER BY row_id')).toEqual([
    { row_id: 1, name: 'Customer 1' },
    { row_id: 4, name: 'Customer 3' },
    { row_id: 5, name: 'Customer 4' },
    { row_id: 6, name: 'Customer 5' },
  ])
})

test('TRUNCATE ends the runs under way, and nothing refers to the rows that were there', async () => {
  const run = await start()
  await mirror.savePages(run, [{ ...aPage(1, customers(1, 3)), window: A_WINDOW }], START_MS)
  await write('TRUNCATE customers')

  await expect(mirror.savePages(run, [aPage(2, customers(4, 6))], START_MS)).rejects.toMatchObject({
    code: 'leased',
  })
  const next = await mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS, resumeWithinMs: MINUTE_MS })
  expect(next.resumedFrom).toBeUndefined()
  expect(next.seen.size).toBe(0)
})

test.each([
  ['directly, VACUUM has no limit of the role', 'direct', ['SET', 'VACUUM', 'RESET']],
  ['through a pooler, nothing is set that other programs would get', 'pooler', ['VACUUM']],
])('%s', async (_, way, expected) => {
  const { rows: processes } = await server.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const process = way === 'pooler' ? 4711 : processes[0]?.pid
  const sent: string[] = []
  const real = through(pgliteConnections(server), (client, sql, parameters) => {
    sent.push(...(/^(?:SET|RESET|VACUUM)/.exec(sql) ?? []))
    return client.query(sql, parameters)
  })
  const connect = () => ({ ...real, connect: async () => ({ ...(await real.connect()), process }) })
  const there = await openDatabase(database.place, 'write', { connect })

  await there.maintain(`VACUUM (ANALYZE) ${there.schema}.customers`)

  expect(sent).toEqual(expected)
})

const A_WINDOW = { page: 1, size: 100, perPage: 100, total: 6, lastPage: 1, beyondEnd: false }

async function night(list: readonly object[], n = 0, ending: Partial<Ending> = {}) {
  const nowMs = START_MS + n * MINUTE_MS
  const run = await start(nowMs)
  await mirror.savePages(run, [aPage(1, list)], nowMs)
  return mirror.finishRun(run, anEnding(ending), nowMs)
}

function start(nowMs = START_MS): Promise<Run> {
  return mirror.startRun({ organization, trigger: 'sync', nowMs })
}

async function indexes() {
  const found = await database.read((session) =>
    session.all<{ name: string }>(
      text(`SELECT indexname AS name FROM pg_indexes
      WHERE schemaname = current_schema() AND indexname IN ('customers_by_email', 'customers_by_language', 'customers_by_update')`),
    ),
  )
  return found.map(({ name }) => name)
}

/** $1 is the organization. */
function rows(sql: string, ...parameters: unknown[]) {
  return database.read((session) => session.query(sql, organization, ...parameters).then((answer) => answer.rows))
}

function write(sql: string) {
  return database.write((session) =>
    session.query(sql, ...(sql.includes('$1') ? [organization] : [])).then((answer) => answer.count),
  )
}
