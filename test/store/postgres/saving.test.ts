import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Mirror } from '../../../src/store/mirror.ts'
import type { SortedPage } from '../../../src/model/page.ts'
import type { Run } from '../../../src/model/run.ts'
import type { Connections, Database } from '../../../src/store/port/postgres-connections.ts'
import { mirrorOf, openDatabase } from '../../../src/store/postgres/open-database.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { anEmptyMirror, pgliteConnections, startPglite, through } from '../../support/pglite-connections.ts'

let server: PGlite
let database: Database
let mirror: Mirror

/** Each test has its own. */
let organization = ''
let organizations = 0

/** The statements of the transactions until now, and what to do after one of them, once. */
let statements: string[] = []
let [roundTrips, unanswered] = [0, 0]
let after: { statement: string; run: string } | undefined

beforeAll(async () => {
  server = await startPglite()
  // As a server of another time sets them; a literal with a backslash, or NULL in an array, then means something else.
  await server.exec('SET standard_conforming_strings = off; SET array_nulls = off')
  const connect = () => observed(pgliteConnections(server))
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

test('two organizations at a time have a save under way in the server, however many are loaded at once', async () => {
  let [underWay, most] = [0, 0]
  const watched: Database = {
    ...database,
    async write(work, writing, once) {
      underWay += 1
      most = Math.max(most, underWay)
      return await database.write(work, writing, once).finally(() => (underWay -= 1))
    },
  }
  const loading = mirrorOf(watched)
  const load = async (place: number) => {
    const run = await mirror.startRun({ organization: `many-${place}`, trigger: 'sync', nowMs: START_MS })
    return await loading.savePages(run, [aPage(1, customers(1, 3))], START_MS)
  }
  const saved = await Promise.all([1, 2, 3, 4, 5, 6].map(load))

  expect(saved.map(({ records }) => records.inserted)).toEqual([3, 3, 3, 3, 3, 3])
  expect(most).toBe(2)
})

test('a night at rest takes as many statements and round trips as another, however many pages it reads', async () => {
  await night([customers(1, 50)])
  const counts: Record<string, [statements: number, roundTrips: number]>[] = []
  for (const pages of [1, 9]) {
    const counted = async <Result>(work: () => Promise<Result>): Promise<[Result, [number, number]]> => {
      statements = []
      roundTrips = 0
      const result = await work()
      return [result, [statements.length, roundTrips]]
    }
    const [run, started] = await counted(() => start(1 + pages))
    let saved: [number, number] = [0, 0]
    for (let place = 1; place <= pages; place += 1)
      [, saved] = await counted(() => mirror.savePages(run, [page(place, customers(1, 50))], START_MS))
    const ending = anEnding({ proof: 'proven', reasons: [], removals })
    const [, ended] = await counted(() => mirror.finishRun(run, ending, START_MS))
    counts.push({ started, saved, ended })
  }

  const expected = { started: [20, 5], saved: [6, 3], ended: [9, 5] }
  expect(counts).toEqual([expected, expected])
})

test('U+0000 becomes U+FFFD, is counted, and is no change the next night, when it is counted again', async () => {
  const odd = { name: 'a\0b', note: 'c\0d', path: String.raw`\u0000` }
  const list = [aCustomer(1, odd), aCustomer(2, { email: { '\0': 'e\0' } }), aCustomer(3)]

  const first = await night([list])
  const second = await night([list], 1)

  for (const report of [first, second]) expect(report.warnings).toMatchObject({ malformed_text: 3 })
  expect(second).toMatchObject({ unchanged: 2, updated: 0, rejected: 1 })
  expect(await rows('SELECT name, extra FROM customers WHERE organization = $1 ORDER BY row_id')).toEqual([
    { name: 'a\uFFFDb', extra: JSON.stringify({ note: 'c\uFFFDd', path: String.raw`\u0000` }) },
    { name: 'Customer 3', extra: null },
  ])
  expect(await rows(`SELECT payload::json ->> 'email' AS email FROM rejects WHERE organization = $1`)).toEqual([
    { email: '{"\uFFFD":"e\uFFFD"}' },
  ])
})

test.each([
  [
    'inserts a customer',
    `INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id, updated_at)
    SELECT 99, organization, '${customerId(3)}', first_seen_at, changed_at, last_run_id, updated_at FROM customers
      WHERE organization = $1 AND row_id = 1`,
  ],
  ['deletes a customer', 'DELETE FROM customers WHERE organization = $1 AND row_id = 1'],
])('pages are decided about again if another program %s after the look-up', async (_what, run) => {
  await night([customers(1, 2)])
  after = { statement: 'SELECT last.row_id', run }

  const report = await night([[aCustomer(1, { name: 'Ada' }), ...customers(2, 3)]], 1)

  expect(after).toBeUndefined()
  expect(report).toMatchObject({ received: 3, inserted: 1, updated: 1, unchanged: 1 })
  expect(await rows('SELECT row_id, name FROM customers WHERE organization = $1 ORDER BY row_id')).toEqual([
    { row_id: 1, name: 'Ada' },
    { row_id: 2, name: 'Customer 2' },
    { row_id: 3, name: 'Customer 3' },
  ])
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

const removals = { rule: { after: 2, maxShare: 1 }, confirmed: new Set<string>() }

async function night(pages: readonly (readonly unknown[])[], number = 0, ending: Parameters<typeof anEnding>[0] = {}) {
  const run = await start(number)
  const nowMs = START_MS + number * MINUTE_MS
  await mirror.savePages(
    run,
    pages.map((records, index) => page(index + 1, records)),
    nowMs,
  )
  return await mirror.finishRun(run, anEnding(ending), nowMs)
}

function start(number = 0): Promise<Run> {
  return mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS + number * MINUTE_MS })
}

function page(number: number, records: readonly unknown[]): SortedPage {
  return { ...aPage(number, records), window: aWindow(number) }
}

function aWindow(number: number): SortedPage['window'] {
  return { page: number, size: 100, perPage: 100, total: 5, lastPage: 1, beyondEnd: false }
}

function rows(sql: string): Promise<Record<string, unknown>[]> {
  return database.read((session) =>
    session
      .query<Record<string, unknown>>(sql, ...(sql.includes('$1') ? [organization] : []))
      .then((answer) => answer.rows),
  )
}

function observed(connections: Connections): Connections {
  return through(connections, async (client, sql, parameters) => {
    statements.push(sql)
    // What is sent before the answer to what was sent before it costs no round trip of its own.
    if (unanswered === 0) roundTrips += 1
    unanswered += 1
    const answer = await client.query(sql, parameters).finally(() => (unanswered -= 1))
    if (after !== undefined && sql.trim().startsWith(after.statement)) {
      const { run } = after
      after = undefined
      await client.query(run, [organization])
    }
    return answer
  })
}
