import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Mirror } from '../../../src/store/mirror.ts'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import type { Run } from '../../../src/model/run.ts'
import type { Connections, Database } from '../../../src/store/port/postgres-connections.ts'
import { text } from '../../../src/store/port/sql.ts'
import { mirrorOf, openDatabase } from '../../../src/store/postgres/open-database.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../../support/builders.ts'
import { PAGES } from '../../support/documents.ts'
import { mirrorPages } from '../../support/mirror-file.ts'
import {
  anAddress,
  anEmptyMirror,
  breakable,
  pgliteConnections,
  startPglite,
  through,
} from '../../support/pglite-connections.ts'

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
  database = await open(await anEmptyMirror(), 'write', observed(pgliteConnections(server)))
  mirror = mirrorOf(database)
})
afterAll(async () => {
  await server.exec('RESET standard_conforming_strings; RESET array_nulls')
})
beforeEach(() => {
  organizations += 1
  organization = `acme-${organizations}`
})

function open(address: string, access: 'read' | 'write' = 'write', connections = pgliteConnections(server)) {
  return openDatabase(address, access, () => connections)
}

test('opening a schema is made with the mirror in it, and opened again as it is; what is shown names no user', async () => {
  const address = anAddress()
  await expect(open(address, 'read')).rejects.toMatchObject({ code: 'missing' })
  const key = (from: Database) => from.read((session) => session.all(text('SELECT key FROM fingerprint_key')))

  const made = await open(address.replace('ann@', 'ann:s3cret@'))
  const keys = await key(made)
  await open(address)

  expect(made.place).toBe(address.replace('ann@', ''))
  expect(keys).toEqual([{ key: expect.any(Buffer) }])
  expect(await key(await open(address, 'read'))).toEqual(keys)
})

test.each([
  ['server_version_num', '130005', /is a PostgreSQL .*, and a mirror needs 14/],
  ['server_encoding', 'SQL_ASCII', /stores text as SQL_ASCII/],
  ['default_transaction_read_only', 'on', /accepts no writes/],
])('opening a server whose %s is %s is refused', async (setting, value, message) => {
  const answering = through(pgliteConnections(server), (client, sql, parameters) =>
    client.query(sql.replace(`current_setting('${setting}')`, `'${value}'`), parameters),
  )

  await expect(open(anAddress(), 'write', answering)).rejects.toThrow(message)
})

test('a transaction is rolled back whole when the work fails, and when it hides that a statement failed', async () => {
  const failing = database.write(async (session) => {
    await retire(session)
    throw new Error('made up')
  })
  const hiding = database.write(async (session) => {
    await retire(session)
    await session.run(text('SELECT 1 / 0')).catch(() => {})
  })

  await expect(failing).rejects.toThrow('made up')
  await expect(hiding).rejects.toThrow('22012')
  expect(await retired()).toEqual([])
})

test('a transaction that meets another one is repeated', async () => {
  let tries = 0

  await database.write(async (session) => {
    tries += 1
    await retire(session)
    if (tries < 3) await session.run(text(`DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$`))
  })

  expect([tries, await retired()]).toEqual([3, [{ organization }]])
})

test('a connection that breaks before the transaction began is replaced', async () => {
  const line = breakable(pgliteConnections(server))
  const there = await open(database.place, 'write', line.connections)
  line.breakAt('BEGIN', 'before', 2)

  await there.write(retire)

  expect(await retired()).toEqual([{ organization }])
})

type Session = Parameters<Parameters<Database['write']>[0]>[0]

function retire(session: Session): Promise<unknown> {
  return session.run(text(`INSERT INTO retired_organizations VALUES ('${organization}', now())`))
}

const retired = () => rows('SELECT organization FROM retired_organizations WHERE organization = $1')

test('a lease is renewed by the clock of the server', async () => {
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: 0 })
  await database.write((session) =>
    session.run(text(`UPDATE leases SET expires_at_ms = expires_at_ms - 55000 WHERE organization = '${organization}'`)),
  )

  await mirror.renewLease(run, 0)

  const isLate = 'expires_at_ms > extract(epoch FROM now()) * 1000 + 50000 AS is_renewed'
  expect(await rows(`SELECT ${isLate} FROM leases WHERE organization = $1`)).toEqual([{ is_renewed: true }])
})

test('the dictionary says of every public column what PostgreSQL says of its type, and docs/operate/postgres.md names those of JSON', async () => {
  expect(await rows(`SELECT table_name AS "table", column_name AS "column" FROM dictionary ORDER BY ctid`)).toEqual(
    PUBLIC_TABLES.flatMap(({ name, columns }) => columns.map((column) => ({ table: name, column: column.name }))),
  )
  expect(await rows(WRONG_TYPES)).toEqual([])
  const meanings = JSON.stringify(await rows('SELECT meaning FROM dictionary'))
  expect(meanings).not.toMatch(/SQLite|this file|\b1 (where|while)\b/)
  const stored = await rows(
    `SELECT DISTINCT CASE column_name WHEN 'extra' THEN 'extra' ELSE table_name || '.' || column_name END AS name
     FROM dictionary WHERE type = 'json'`,
  )
  const operating = PAGES.find(({ name }) => name === 'docs/operate/postgres.md')?.text ?? ''
  const [, named = ''] = /is a boolean\. ([^.]*(?:\.[^.]*)*?) are `json`/.exec(operating) ?? []

  expect([...named.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name).toSorted()).toEqual(
    stored.map(({ name }) => String(name)).toSorted(),
  )
})

const WRONG_TYPES = `
  SELECT * FROM dictionary JOIN information_schema.columns AS held
    ON table_schema = current_schema() AND held.table_name = dictionary.table_name AND held.column_name = dictionary.column_name
  WHERE type <> data_type`

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
    for (let page = 1; page <= pages; page += 1) {
      const window = { page, size: 100, perPage: 100, total: 5, beyondEnd: false }
      const read = [{ ...aPage(page, customers(1, 50)), window }]
      ;[, saved] = await counted(() => mirror.savePages(run, read, START_MS))
    }
    const ending = anEnding({ proof: 'proven', reasons: [], removals })
    const [, ended] = await counted(() => mirror.finishRun(run, ending, START_MS))
    counts.push({ started, saved, ended })
  }

  const expected = { started: [20, 4], saved: [6, 3], ended: [9, 5] }
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
  const rejects = await rows(`SELECT payload::json ->> 'email' AS email FROM rejects WHERE organization = $1`)
  expect(rejects).toEqual([{ email: '{"\uFFFD":"e\uFFFD"}' }])
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
  const there = await openDatabase(database.place, 'write', () => connections)
  const run = await start()

  const saving = mirrorOf(there).savePages(run, [aPage(1, customers(1, 3))], START_MS)

  if (outcome === 'complete') expect(await saving).toMatchObject({ records: { inserted: 3 } })
  else await expect(saving).rejects.toMatchObject({ code: outcome, message: expect.stringContaining(message) })
  const stored = await rows('SELECT count(*) AS count FROM customers WHERE organization = $1')
  expect(stored).toEqual([{ count: outcome === 'complete' ? 3 : 0 }])
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
  const there = await openDatabase(database.place, 'write', connect)

  await there.maintain(`VACUUM (ANALYZE) ${there.schema}.customers`)

  expect(sent).toEqual(expected)
})

const removals = { rule: { after: 2, maxShare: 1 }, confirmed: new Set<string>() }

function night(pages: readonly (readonly unknown[])[], number = 0) {
  return mirrorPages(mirror, pages, { organization, atMs: START_MS + number * MINUTE_MS })
}

function start(number = 0): Promise<Run> {
  return mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS + number * MINUTE_MS })
}

function rows(words: string): Promise<Record<string, unknown>[]> {
  return database.read((session) => session.all(text(words.replace('$1', `'${organization}'`))))
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
