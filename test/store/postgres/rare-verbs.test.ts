import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Organizations } from '../../../src/organizations.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import { openOrganizations } from '../../../src/store/mirror.ts'
import { eraseTraces } from '../../../src/store/postgres/vacuum.ts'
import { organizationsIn } from '../../../src/store/organizations.ts'
import { postgresStore } from '../../../src/store/port/postgres-store.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import { rehearseMirror } from '../../../src/store/rehearsal.ts'
import { inPostgres, inSqlite, sortedRows } from '../../support/both-stores.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { randomTables } from '../../support/random-tables.ts'
import { seeds, someOf } from '../../support/seeds.ts'
import { CLOCKS, CUSTOMER, NO_TRACES, NOW_MS } from '../../support/postgres/rare-verbs.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

const DAY_MS = 86_400_000

/** What the tables hold, in the form of SQLite. */
const TABLES: Record<string, string> = {
  runs: 'id, organization, status, error, error_code, certificate',
  customers: 'row_id, organization, id, name, email, extra, missing_since, removed_at, last_run_id, updated_at',
  changes: 'run_id, organization, id, change, fields, at, missing_since',
  rejects: 'reject_id, organization, record_key, resolved_at',
  held_removals: 'organization, row_id, run_id',
  retired_organizations: 'organization, retired_at',
  horizons: 'organization, pruned_seq, feed_seq, history_from, customers_from',
  pruned_runs: 'organization, before_day',
  edited_customers: 'organization, row_id',
  unfinished_forgets: 'organization',
}

type Verbs = { mirror: Pick<Mirror, 'prune' | 'forgetCustomer'>; organizations: Organizations }

const DEEDS: [string, (verbs: Verbs) => Promise<unknown>][] = [
  ['prune', ({ mirror }) => mirror.prune('acme', RETENTION, { asOfMs: NOW_MS, isConfirmed: true })],
  [
    'prune by a clock that may be wrong',
    ({ mirror }) => mirror.prune('Birch', RETENTION, { asOfMs: NOW_MS, isConfirmed: false }),
  ],
  ['forget a customer', async ({ mirror }) => (await mirror.forgetCustomer(CUSTOMER)).deleted],
  ['retire', ({ organizations }) => organizations.retire('acme', CLOCKS)],
  ['rename', ({ organizations }) => organizations.rename({ from: 'acme', to: 'Acme GmbH' }, CLOCKS)],
  ['rename to a name that is taken', ({ organizations }) => organizations.rename({ from: 'acme', to: 'zeta' }, CLOCKS)],
  ['forget an organization', ({ organizations }) => organizations.forget('acme', CLOCKS)],
]

const RETENTION = {
  changesMs: 2 * DAY_MS,
  resolvedRejectsMs: 3 * DAY_MS,
  runsMs: 2 * DAY_MS,
  removedCustomersMs: 3 * DAY_MS,
}

test.each(someOf(DEEDS, { every: 4 }))(
  'after a request to %s, PostgreSQL holds the same as SQLite',
  async (_, deed) => {
    for (let seed = 1; seed <= seeds(20, { least: 1, every: 20 }); seed += 1) {
      const { lasting, tables } = lastingTables(seed)
      const { file, mirror, rows } = await inSqlite(tables)
      const organizations = await openOrganizations(file)
      const database = await inPostgres(server, tables)

      const there = await outcome(deed, { mirror, organizations })
      const here = await outcome(deed, {
        mirror: mirrorOf(database),
        organizations: organizationsIn(postgresStore(database)),
      })
      await organizations.close()

      expect({ seed, lasting, outcome: here }).toEqual({ seed, lasting, outcome: there })
      for (const [table, columns] of Object.entries(TABLES)) {
        const found = await database.read((session) => session.all(`SELECT ${columns} FROM ${table}`))
        const expected = rows(`SELECT ${columns} FROM ${table}`)
        expect({ seed, table, rows: sortedRows(found) }).toEqual({ seed, table, rows: sortedRows(expected) })
      }
    }
  },
)

/** Random rows of organizations that have a run each, since every customer came with one. */
function lastingTables(seed: number) {
  const tables = randomTables(seed)
  const lasting = [...new Set(tables['runs']?.map(({ organization }) => organization))]
  return { lasting, tables }
}

async function outcome(deed: (verbs: Verbs) => Promise<unknown>, verbs: Verbs): Promise<unknown> {
  try {
    return await deed(verbs)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

describe('what deleted rows leave', () => {
  test('is released when no transaction sees it any more', async () => {
    const database = await inPostgres(server, randomTables(3))

    expect(await eraseTraces(database, NO_TRACES)).toBe('released')
  })
})

test('a rehearsal of a mirror on a server that is not there says so', async () => {
  const rehearsing = rehearseMirror('postgres://127.0.0.1:1/none', ['acme'])

  await expect(rehearsing).rejects.toMatchObject({ code: 'gone' })
})

test('a run that starts while a customer is forgotten looks anew', async () => {
  const database = await inPostgres(server, randomTables(3))
  const lease = () =>
    database.read((session) =>
      session.first<{ run_id: number }>(`SELECT run_id FROM leases WHERE organization = 'acme'`),
    )
  const before = await lease()
  await mirrorOf(database).forgetCustomer(CUSTOMER)

  expect(before).toBeUndefined()
  expect((await lease())?.run_id).toBe(0)
})
