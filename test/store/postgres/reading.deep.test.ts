import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PGlite } from '@electric-sql/pglite'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { readStatement } from '../../../src/copies/postgres-statement.ts'
import { aPostgresMirror } from '../../support/postgres/here.ts'
import { A_CUSTOMER, A_RUN } from '../../support/postgres/first-rows.ts'
import { postgresPrograms, startPostgres } from '../../../bench/postgres-server.ts'
import { openMirror } from '../../../src/store/mirror.ts'
import { customers } from '../../support/builders.ts'
import { mirrorPages } from '../../support/mirror-file.ts'
import { findKnownElsewhere } from '../../../src/store/reading/rejects.ts'
import { postgresSession } from '../../../src/store/port/postgres-store.ts'
import { inPostgres, insertRow } from '../../support/both-stores.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { rowsRead, stockCustomers } from '../../support/postgres/rows-read.ts'
import { randomTables } from '../../support/random-tables.ts'

test.skipIf(postgresPrograms() === undefined)(
  'first runs of several workers that end at the same moment are all complete',
  async () => {
    const server = await startPostgres()
    onTestFinished(() => server.close())
    const mirrors = await Promise.all(Array.from({ length: 6 }, () => openMirror(server.url)))
    for (const mirror of mirrors) onTestFinished(() => mirror.close())

    const reports = await Promise.all(
      mirrors.map((mirror, index) => mirrorPages(mirror, [customers(1, 40)], { organization: `org-${index}` })),
    )

    expect(reports.map(({ status }) => status)).toEqual(mirrors.map(() => 'complete'))
  },
)

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

test('which ids belong to another organization is looked up by their index alone, in a table that was never analyzed', async () => {
  // The tables of the test before are emptied, and are then as if it had not analyzed them.
  const before = await inPostgres(server, {})
  for (const customersBefore of [3000, 5]) {
    await before.write(async (session) => {
      await session.run('DELETE FROM customers; DELETE FROM runs')
      await stockCustomers(session, customersBefore)
    })
  }
  await server.exec(`ANALYZE ${before.schema}.customers`)

  const database = await inPostgres(server, {})
  const found = await database.write(async (session) => {
    await stockCustomers(session, 20_000)
    const ids = Array.from({ length: 64 }, (_, place) => String(place + 1))
    return rowsRead(session, 'customers', () => findKnownElsewhere(postgresSession(session), 'acme', ids))
  })

  expect(database.schema).toBe(before.schema)
  expect(found).toBeGreaterThan(0)
  expect(found).toBeLessThan(1000)
})

test('days are those of UTC, whatever the time zone of a reader', async () => {
  const database = await inPostgres(server, randomTables(1))
  const read = (zone: string) =>
    database.read(async (session) => {
      await session.run(`SET LOCAL timezone = '${zone}'`)
      return session.all('SELECT * FROM customers_daily ORDER BY organization, day')
    })

  expect(await read('Pacific/Kiritimati')).toEqual(await read('UTC'))
})

describe('history', () => {
  test('is read where a change holds U+0000, which PostgreSQL does not read', async () => {
    const database = await inPostgres(server, randomTables(1))
    await database.write(async (session) => {
      await session.run(`DELETE FROM changes; DELETE FROM customers; DELETE FROM horizons`)
      await insertRow(session, 'customers', { ...A_CUSTOMER, extra: '{"b":"\\u0000"}' })
      await insertRow(session, 'changes', {
        ...{ seq: 900, run_id: 1, organization: 'acme', id: 'x', change: 'changed', at: '2026-03-01 00:00:00' },
        fields: String.raw`{"name":["A\u0000\u0000\\u0000","B"],"extra":["{\"a\":\"\\u0000\"}",null]}`,
      })
    })

    const [first] = await database.read((session) =>
      session.all(`SELECT name, extra::text AS extra FROM customers_history WHERE closed_by IS NOT NULL`),
    )

    expect(first).toEqual({ name: String.raw`A��\u0000`, extra: String.raw`{"a":"\u0000"}` })
  })
})

test('the customers of an organization are counted once for its daily numbers, not once for every day', async () => {
  const rows = Array.from({ length: 50 }, (_, at) => ({ ...A_CUSTOMER, row_id: at + 1, id: `customer ${at}` }))
  const database = await inPostgres(server, {
    runs: [
      { ...A_RUN, finished_at: '2026-01-01 00:00:00' },
      { ...A_RUN, id: 2, started_at: '2026-12-01 00:00:00' },
    ],
    customers: rows,
  })
  const plan = await database.read((session) =>
    session.all<Record<string, string>>(
      `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) SELECT * FROM customers_daily WHERE organization = 'acme'`,
    ),
  )
  const counting = plan.flatMap((row) => Object.values(row)).filter((line) => /on customers\b/.test(line))

  expect(counting).toHaveLength(2)
  for (const line of counting) expect(line).toMatch(/loops=1\)/)
})

test('a statement that names a file that is not there is a mistake, and no damage', async () => {
  const address = aPostgresMirror()
  await (await openDatabase(address, 'write')).close()

  for (const name of ['pg_read_file', 'pg_stat_file', 'pg_ls_dir'])
    await expect(
      Array.fromAsync(readStatement(address, { sql: `SELECT ${name}('nowhere')` }, { limitMs: 10_000 })),
    ).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringMatching(/^The statement failed: could not .* "nowhere"/),
    })
})

test('a server that ended a transaction for its length has not refused a statement that would write', async () => {
  const address = aPostgresMirror()
  const database = await openDatabase(address, 'write')
  const raised = `CREATE FUNCTION too_long() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'made up' USING ERRCODE = '25P04'; END $$`
  await database.write((session) => session.run(raised))
  await database.close()

  await expect(
    Array.fromAsync(readStatement(address, { sql: 'SELECT too_long()' }, { limitMs: 10_000 })),
  ).rejects.toMatchObject({
    code: 'gone',
    message: expect.stringContaining('made up (SQLSTATE 25P04). Start the server'),
  })
})
