import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import { text } from '../../../src/store/port/sql.ts'
import { createReadingIndexes } from '../../../src/store/reading-indexes.ts'
import { inPostgres, inSqlite, randomTables, sortedRows } from '../../support/both-stores.ts'
import { blocksIn, PAGES } from '../../support/documents.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { seeds } from '../../support/seeds.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

/** The columns of views, without those that depend on the clock. */
const VIEWS = {
  freshness:
    'organization, read_as_of, proven_as_of, proof, last_run_id, last_status, active, missing, removed, open_rejects, held, retired_at',
  customers_history:
    'organization, id, valid_from, valid_to, valid_from_after, valid_to_after, opened_by, closed_by, name, username, email, extra',
  customers_daily: 'organization, day, active, added, removed, changed',
}

/** The queries of the README, which says that they run alike. */
const QUERIES = PAGES.filter(({ name }) => name === 'README.md').flatMap((page) => blocksIn(page, 'sql'))

test('views, verbs and the queries of the README read the same from PostgreSQL as from SQLite', async () => {
  for (let seed = 1; seed <= seeds(60, { least: 2, every: 30 }); seed += 1) {
    const tables = randomTables(seed)
    const { rows: rowsOf, mirror } = await inSqlite(tables)
    const database = await inPostgres(server, tables)

    for (const [view, columns] of Object.entries(VIEWS)) {
      const rows = await database.read((session) => session.all(text(`SELECT ${columns} FROM ${view}`)))
      expect({ seed, view, rows: sortedRows(rows) }).toEqual({
        seed,
        view,
        rows: sortedRows(rowsOf(`SELECT ${columns} FROM ${view}`)),
      })
    }
    for (const { text: query } of QUERIES) {
      const rows = await database.read((session) => session.all(text(query.replace(/;\s*$/, ''))))
      expect({ seed, query, rows: sortedRows(rows) }).toEqual({ seed, query, rows: sortedRows(rowsOf(query)) })
    }
    const [here, there] = [mirrorOf(database), mirror]
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

test('the indexes of readers are created once an organization was read to its end', async () => {
  const database = await inPostgres(server, { runs: [{ ...A_RUN, reasons: '["page-limit"]' }] })
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

describe('the dictionary', () => {
  test('says of every public column what PostgreSQL says of its type', async () => {
    const database = await inPostgres(server, {})
    const stored = await database.read((session) =>
      session.all<{ table: string; column: string }>(text(`SELECT "table", "column" FROM dictionary ORDER BY ctid`)),
    )
    const wrong = await database.read((session) => session.all(text(WRONG_TYPES)))
    const meanings = await database.read((session) => session.all(text(`SELECT meaning FROM dictionary`)))

    expect(stored).toEqual(
      PUBLIC_TABLES.flatMap(({ name, columns }) => columns.map((column) => ({ table: name, column: column.name }))),
    )
    expect(wrong).toEqual([])
    expect(JSON.stringify(meanings)).not.toMatch(/SQLite|this file|\b1 (where|while)\b/)
  })

  test('names the columns of JSON that docs/operate/operations.md names', async () => {
    const database = await inPostgres(server, {})
    const stored = await database.read((session) =>
      session.all<{
        name: string
      }>(
        text(`SELECT DISTINCT CASE "column" WHEN 'extra' THEN 'extra' ELSE "table" || '.' || "column" END AS name
        FROM dictionary WHERE type = 'json'`),
      ),
    )
    const page = PAGES.find(({ name }) => name === 'docs/operate/operations.md')?.text ?? ''
    const [, named = ''] = /is a boolean\. ([^.]*(?:\.[^.]*)*?) are `json`/.exec(page) ?? []

    expect([...named.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name).toSorted()).toEqual(
      stored.map(({ name }) => name).toSorted(),
    )
  })
})

const WRONG_TYPES = `
  SELECT * FROM dictionary JOIN information_schema.columns ON table_schema = current_schema() AND table_name = "table" AND column_name = "column"
  WHERE type <> data_type`

const AT = '2026-03-01 00:00:00.000'

/** The first run of a mirror, complete. */
const A_RUN = {
  id: 1,
  organization: 'acme',
  trigger: 'sync',
  started_at: AT,
  read_as_of: AT,
  status: 'complete',
}
