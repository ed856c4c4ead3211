import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import type { Connections, Database } from '../../../src/store/port/postgres-connections.ts'
import { text } from '../../../src/store/port/sql.ts'
import { mirrorOf, openDatabase } from '../../../src/store/postgres/open-database.ts'
import { createReadingIndexes } from '../../../src/store/reading-indexes.ts'
import { PAGES } from '../../support/documents.ts'
import {
  anAddress,
  anEmptyMirror,
  breakable,
  pgliteConnections,
  startPglite,
  through,
} from '../../support/pglite-connections.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

test('opening a schema is made with the mirror in it, and opened again as it is', async () => {
  const address = anAddress()
  await expect(open(address, 'read')).rejects.toMatchObject({ code: 'missing' })

  const made = await open(address)
  const keys = await made.read((session) => session.all(text('SELECT key FROM fingerprint_key')))
  await open(address)
  const reader = await open(address, 'read')

  expect(keys).toEqual([{ key: expect.any(Buffer) }])
  expect(await reader.read((session) => session.all(text('SELECT key FROM fingerprint_key')))).toEqual(keys)
})

test.each([
  ['server_version_num', '130005', /is a PostgreSQL .*, and a mirror needs 14/],
  ['server_encoding', 'SQL_ASCII', /stores text as SQL_ASCII/],
  ['default_transaction_read_only', 'on', /accepts no writes/],
])('opening a server whose %s is %s is refused', async (setting, value, message) => {
  const connect = () => answering(pgliteConnections(server), `current_setting('${setting}')`, `'${value}'`)

  await expect(openDatabase(anAddress(), 'write', { connect })).rejects.toThrow(message)
})

test('opening neither user nor password are in what is shown', async () => {
  const { place } = await openDatabase('postgres://ann:s3cret@db.test/crm?schema=shown', 'write', onPglite)

  expect(place).toBe('postgres://db.test/crm?schema=shown')
})

test('a transaction is rolled back whole when the work fails, and when it hides that a statement failed', async () => {
  const database = await open(await anEmptyMirror())
  const failing = database.write(async (session) => {
    await retire(session, 'acme')
    throw new Error('made up')
  })
  const hiding = database.write(async (session) => {
    await retire(session, 'acme')
    await session.run(text('SELECT 1 / 0')).catch(() => {})
  })

  await expect(failing).rejects.toThrow('made up')
  await expect(hiding).rejects.toThrow('22012')
  expect(await retired(database)).toEqual([])
})

test('a transaction that meets another one is repeated', async () => {
  const database = await open(await anEmptyMirror())
  let tries = 0

  await database.write(async (session) => {
    tries += 1
    await retire(session, `try ${tries}`)
    if (tries < 3) await session.run(text(`DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$`))
  })

  expect(await retired(database)).toEqual(['try 3'])
})

test('a connection that breaks before the transaction began is replaced', async () => {
  const line = breakable(pgliteConnections(server))
  const database = await open(await anEmptyMirror(), 'write', line.connections)
  line.breakAt('BEGIN', 'before', 2)

  await database.write((session) => retire(session, 'acme'))

  expect(await retired(database)).toEqual(['acme'])
})

test('a lease is renewed by the clock of the server', async () => {
  const database = await openDatabase(await anEmptyMirror(), 'write', onPglite)
  const mirror = mirrorOf(database)
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: 0 })
  await database.write((session) => session.run(text('UPDATE leases SET expires_at_ms = expires_at_ms - 55000')))

  await mirror.renewLease(run, 0)

  const isLate = 'SELECT expires_at_ms > extract(epoch FROM now()) * 1000 + 50000 AS is_renewed FROM leases'
  expect(await database.read((session) => session.all(text(isLate)))).toEqual([{ is_renewed: true }])
})

const onPglite = { connect: () => pgliteConnections(server) }

function open(address: string, access: 'read' | 'write' = 'write', connections = pgliteConnections(server)) {
  return openDatabase(address, access, { connect: () => connections })
}

type Session = Parameters<Parameters<Database['write']>[0]>[0]

function retire(session: Session, organization: string): Promise<number> {
  return session
    .query('INSERT INTO retired_organizations VALUES ($1, now())', organization)
    .then((answer) => answer.count)
}

async function retired(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.all<{ organization: string }>(text('SELECT organization FROM retired_organizations')),
  )
  return rows.map(({ organization }) => organization)
}

/** Connections to a server that gives another answer to what a statement asks. */
function answering(connections: Connections, asked: string, answer: string): Connections {
  return through(connections, (client, sql, parameters) => client.query(sql.replace(asked, answer), parameters))
}

test('the indexes of readers are created once an organization was read to its end', async () => {
  const database = await open(await anEmptyMirror())
  await database.write((session) => session.run(text(A_TRIAL)))
  const indexForReaders = () => createReadingIndexes(database)
  const count = () =>
    database.read((session) =>
      session.first(
        text(`SELECT count(*)::int AS found FROM pg_indexes
        WHERE schemaname = current_schema() AND indexname IN ('customers_by_email', 'customers_by_language', 'customers_by_update')`),
      ),
    )
  await indexForReaders()
  expect(await count()).toEqual({ found: 0 })

  await database.write((session) => session.run(text(`UPDATE runs SET reasons = '[]'`)))
  await Promise.all([indexForReaders(), indexForReaders()])

  expect(await count()).toEqual({ found: 3 })
})

test('the dictionary says of every public column what PostgreSQL says of its type', async () => {
  const database = await open(await anEmptyMirror())
  const stored = await database.read((session) =>
    session.all<{ table: string; column: string }>(
      text(`SELECT table_name AS "table", column_name AS "column" FROM dictionary ORDER BY ctid`),
    ),
  )
  const wrong = await database.read((session) => session.all(text(WRONG_TYPES)))
  const meanings = await database.read((session) => session.all(text(`SELECT meaning FROM dictionary`)))

  expect(stored).toEqual(
    PUBLIC_TABLES.flatMap(({ name, columns }) => columns.map((column) => ({ table: name, column: column.name }))),
  )
  expect(wrong).toEqual([])
  expect(JSON.stringify(meanings)).not.toMatch(/SQLite|this file|\b1 (where|while)\b/)
})

test('the dictionary names the columns of JSON that docs/operate/postgres.md names', async () => {
  const database = await open(await anEmptyMirror())
  const stored = await database.read((session) =>
    session.all<{
      name: string
    }>(
      text(`SELECT DISTINCT CASE column_name WHEN 'extra' THEN 'extra' ELSE table_name || '.' || column_name END AS name
      FROM dictionary WHERE type = 'json'`),
    ),
  )
  const page = PAGES.find(({ name }) => name === 'docs/operate/postgres.md')?.text ?? ''
  const [, named = ''] = /is a boolean\. ([^.]*(?:\.[^.]*)*?) are `json`/.exec(page) ?? []

  expect([...named.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name).toSorted()).toEqual(
    stored.map(({ name }) => name).toSorted(),
  )
})

const WRONG_TYPES = `
  SELECT * FROM dictionary JOIN information_schema.columns AS held
    ON table_schema = current_schema() AND held.table_name = dictionary.table_name AND held.column_name = dictionary.column_name
  WHERE type <> data_type`

/** The first run of a mirror, which read some pages. */
const A_TRIAL = `INSERT INTO runs (id, organization, trigger, started_at, read_as_of, status, reasons)
  VALUES (1, 'acme', 'sync', '2026-03-01', '2026-03-01', 'complete', '["cached-answer"]')`
