import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, test } from 'vitest'
import { DICTIONARY } from '../../../src/mirror/postgres/dictionary.ts'
import { findKnownElsewhere } from '../../../src/mirror/postgres/reading/known-elsewhere.ts'
import { readingIndexes } from '../../../src/mirror/postgres/reading/reading-indexes.ts'
import { readingVerbs } from '../../../src/mirror/postgres/reading/reading-verbs.ts'
import { PUBLIC_TABLES } from '../../../src/public-tables.ts'
import { PAGES } from '../../support/documents.ts'
import { inPostgres, inSqlite, insertRow, sortedRows } from '../../support/both-stores.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { rowsRead, stockCustomers } from '../../support/postgres/rows-read.ts'
import { randomTables } from '../../support/random-tables.ts'
import { seeds } from '../../support/seeds.ts'

let server: PGlite
beforeAll(async () => {
  server = await startPglite()
})

/** The columns of views, without those that depend on the clock. */
const VIEWS = {
  freshness:
    'organization, data_as_of, proof, last_run_id, last_status, active, missing, removed, open_rejects, read_as_of, proven_as_of, held, retired_at',
  customers_history:
    'organization, id, valid_from, valid_to, valid_from_after, valid_to_after, opened_by, closed_by, name, username, email, extra',
  customers_daily: 'organization, day, active, added, removed, changed',
}

test('views and verbs read the same from PostgreSQL as from SQLite', async () => {
  for (let seed = 1; seed <= seeds(60, { least: 2, every: 30 }); seed += 1) {
    const tables = randomTables(seed)
    const { rows: rowsOf, mirror } = await inSqlite(tables)
    const database = await inPostgres(server, tables)

    for (const [view, columns] of Object.entries(VIEWS)) {
      const rows = await database.read((session) => session.all(`SELECT ${columns} FROM ${view}`))
      expect({ seed, view, rows: sortedRows(rows) }).toEqual({
        seed,
        view,
        rows: sortedRows(rowsOf(`SELECT ${columns} FROM ${view}`)),
      })
    }
    const [here, there] = [readingVerbs(database), mirror]
    expect(await here.listRuns({ limit: 7 })).toEqual(await there.listRuns({ limit: 7 }))
    expect(await here.listRuns({ organization: 'acme', limit: 99 })).toEqual(
      await there.listRuns({ organization: 'acme', limit: 99 }),
    )
    expect(await here.findRun(3)).toEqual(await there.findRun(3))
    expect(await here.listFreshness()).toEqual(await there.listFreshness())
    expect(await here.listUncountedFreshness()).toEqual(await there.listUncountedFreshness())
    expect(await here.listLastRuns()).toEqual(await there.listLastRuns())
    const asked = { organizations: ['zeta', 'acme', 'nobody'], limit: 3 }
    expect(await here.listLatestRuns(asked)).toEqual(await there.listLatestRuns(asked))
    expect(await here.listRejects({ limit: 9 })).toEqual(await there.listRejects({ limit: 9 }))
    const ids = ['acme', ...(tables['customers']?.map(({ id }) => String(id)) ?? [])]
    expect(await here.findKnownElsewhere('acme', ids)).toEqual(await there.findKnownElsewhere('acme', ids))
  }
})

test('which ids belong to another organization is looked up by their index alone, in a table that was never analyzed', async () => {
  const database = await inPostgres(server, {})
  const found = await database.write(async (session) => {
    await stockCustomers(session, 20_000)
    const ids = Array.from({ length: 64 }, (_, place) => String(place + 1))
    return rowsRead(session, 'customers', () => findKnownElsewhere(session, 'acme', ids))
  })

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
  const customers = Array.from({ length: 50 }, (_, at) => ({ ...A_CUSTOMER, row_id: at + 1, id: `customer ${at}` }))
  const database = await inPostgres(server, {
    runs: [
      { ...A_RUN, finished_at: '2026-01-01 00:00:00' },
      { ...A_RUN, id: 2, started_at: '2026-12-01 00:00:00' },
    ],
    customers,
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

test('numbers above 2^31 are read whole', async () => {
  const database = await inPostgres(server, {
    runs: [{ ...A_RUN, id: 5_000_000_000, requests: 6_000_000_000 }],
    customers: [{ ...A_CUSTOMER, row_id: 7_000_000_000 }],
    held_removals: [{ organization: 'acme', row_id: 7_000_000_000, run_id: 5_000_000_000 }],
  })

  expect(await readingVerbs(database).findRun(5_000_000_000)).toMatchObject({
    runId: 5_000_000_000,
    requests: 6_000_000_000,
  })
  expect(await readingVerbs(database).listFreshness()).toMatchObject([{ lastRunId: 5_000_000_000, active: 1, held: 1 }])
})

test('the indexes of readers are created once an organization was read to its end', async () => {
  const database = await inPostgres(server, { runs: [{ ...A_RUN, reasons: '["page-limit"]' }] })
  const indexForReaders = readingIndexes(database)
  const count = () =>
    database.read((session) =>
      session.first(`SELECT count(*)::int AS found FROM pg_indexes
        WHERE schemaname = current_schema() AND indexname IN ('customers_by_email', 'customers_by_language', 'customers_by_update')`),
    )
  await indexForReaders()
  expect(await count()).toEqual({ found: 0 })

  await database.write((session) => session.run(`UPDATE runs SET reasons = '[]'`))
  await Promise.all([indexForReaders(), readingIndexes(database)()])

  expect(await count()).toEqual({ found: 3 })
})

describe('the dictionary', () => {
  test('says of every public column what PostgreSQL says of its type', async () => {
    const database = await inPostgres(server, {})
    const stored = await database.read((session) =>
      session.all<{ table: string; column: string }>(`SELECT "table", "column" FROM dictionary ORDER BY ctid`),
    )
    const wrong = await database.read((session) => session.all(WRONG_TYPES))
    const meanings = await database.read((session) => session.all(`SELECT meaning FROM dictionary`))

    expect(stored).toEqual(
      PUBLIC_TABLES.flatMap(({ name, columns }) => columns.map((column) => ({ table: name, column: column.name }))),
    )
    expect(wrong).toEqual([])
    expect(JSON.stringify(meanings)).not.toMatch(/SQLite|this file|\b1 (where|while)\b/)
  })

  test('names the columns of JSON that docs/OPERATIONS.md names', async () => {
    const database = await inPostgres(server, {})
    const stored = await database.read((session) =>
      session.all<{
        name: string
      }>(`SELECT DISTINCT CASE "column" WHEN 'extra' THEN 'extra' ELSE "table" || '.' || "column" END AS name
        FROM dictionary WHERE type = 'json'`),
    )
    const page = PAGES.find(({ name }) => name === 'docs/OPERATIONS.md')?.text ?? ''
    const [, named = ''] = /is a boolean\. ([^.]*(?:\.[^.]*)*?) are `json`/.exec(page) ?? []

    expect([...named.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name).toSorted()).toEqual(
      stored.map(({ name }) => name).toSorted(),
    )
  })

  test('is put right when the mirror is opened, and not written where it is right', async () => {
    const database = await inPostgres(server, {})
    const versions = () =>
      database.read((session) => session.all('SELECT xmin::text, ctid::text, * FROM dictionary ORDER BY ctid'))
    const before = await versions()
    await database.write(DICTIONARY.write)
    expect(await versions()).toEqual(before)

    await database.write((session) =>
      session.run(
        `UPDATE dictionary SET meaning = 'x' WHERE "column" = 'id'; INSERT INTO dictionary VALUES ('old', 'old', 'text', 'x', 'mirror', true, true)`,
      ),
    )
    await database.write(DICTIONARY.write)

    const wrong = await database.read((session) => session.all(`SELECT * FROM dictionary WHERE meaning = 'x'`))
    expect(wrong).toEqual([])
  })
})

test('the same columns stand in each public table of both stores', async () => {
  const { rows: rowsOf } = await inSqlite({})
  const database = await inPostgres(server, {})

  for (const { name } of PUBLIC_TABLES) {
    const there = await database.read((session) =>
      session.all<{ name: string }>(
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
        name,
      ),
    )
    const here = rowsOf(`SELECT name FROM pragma_table_info('${name}')`).map((row) => String(row['name']))
    expect({ name, columns: there.map((row) => row.name).toSorted() }).toEqual({ name, columns: here.toSorted() })
  }
})

const WRONG_TYPES = `
  SELECT * FROM dictionary JOIN information_schema.columns ON table_schema = current_schema() AND table_name = "table" AND column_name = "column"
  WHERE type <> data_type`

const AT = '2026-03-01 00:00:00.000'
const A_RUN = { id: 1, organization: 'acme', trigger: 'sync', started_at: AT, data_as_of: AT, status: 'complete' }
const A_CUSTOMER = {
  ...{
    row_id: 1,
    organization: 'acme',
    id: 'x',
    name: 'Ann',
    first_seen_at: AT,
    changed_at: AT,
    last_run_id: 1,
    updated_at: AT,
  },
}
