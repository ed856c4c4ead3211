import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eraseTraces } from '../../../src/store/postgres/vacuum.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import type { Database } from '../../../src/store/port/postgres-session.ts'
import { postgresPrograms } from '../../../bench/postgres-server.ts'
import { openMirror } from '../../../src/store/mirror.ts'
import { inPostgres } from '../../support/both-stores.ts'
import { aCustomer, customerId, START_MS } from '../../support/builders.ts'
import { aTurkishDatabase } from '../../support/postgres/turkish-database.ts'
import { night } from '../nights.ts'
import { startPglite } from '../../support/pglite-connections.ts'
import { randomTables } from '../../support/random-tables.ts'
import { CUSTOMER, NO_TRACES } from '../../support/postgres/rare-verbs.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

describe('what deleted rows leave', () => {
  test('is in none of the samples that the server keeps of values', async () => {
    const database = await inPostgres(server, randomTables(3))
    const count = () =>
      database.read((session) =>
        session.first(`SELECT count(*) AS found FROM pg_stats
          WHERE schemaname = current_schema() AND pg_stats::text LIKE '%bbbbbbbb-0000%'`),
      )
    await database.maintain(`ANALYZE ${database.schema}.customers, ${database.schema}.changes`)
    const before = await count()
    for (const organization of ['acme', 'Birch', 'Österreich', 'zeta'])
      await mirrorOf(database)
        .forgetCustomer({ ...CUSTOMER, organization })
        .catch(() => {})

    expect(await eraseTraces(database, NO_TRACES)).toBe('released')
    expect([before, await count()]).toEqual([{ found: 2 }, { found: 0 }])
  })

  test('is in no sample of a table that has become empty either', async () => {
    const database = await inPostgres(server, randomTables(3))
    const samples = () =>
      database.read((session) =>
        session.first(`SELECT count(*) > 0 AS found FROM pg_stats
          WHERE schemaname = current_schema() AND tablename = 'customers' AND pg_stats::text LIKE '%Ann%'`),
      )
    await database.maintain(`ANALYZE ${database.schema}.customers`)
    const before = await samples()
    await database.write((session) => session.run('DELETE FROM customers; DELETE FROM edited_customers'))

    expect(await eraseTraces(database, NO_TRACES)).toBe('released')
    expect([before, await samples()]).toEqual([{ found: true }, { found: false }])
    expect(
      await database.read((session) =>
        session.all('SELECT row_id FROM customers UNION ALL SELECT row_id FROM edited_customers'),
      ),
    ).toEqual([])
  })

  test('waits for a transaction that began before, and the next try releases it', async () => {
    const database = await inPostgres(server, randomTables(3))

    expect(await eraseTraces(withReader(database, { reads: 99 }), NO_TRACES, { patienceMs: 0 })).toBe('busy')
    expect(await eraseTraces(withReader(database, { reads: 2 }), NO_TRACES)).toBe('released')
  })
})

/** A database in which a transaction of another program is under way for so many looks. */
function withReader(database: Database, { reads }: { reads: number }): Database {
  let left = reads
  return {
    ...database,
    read: (work) =>
      database.read((session) =>
        work({
          ...session,
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion
          first: async <Row>(sql: string, ...parameters: unknown[]) => {
            if (!sql.includes('pg_stat_activity')) return session.first<Row>(sql, ...parameters)
            left -= 1
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion
            return left >= 0 ? ({ pid: 1 } as Row) : session.first<Row>(sql, ...parameters)
          },
        }),
      ),
  }
}

test.skipIf(postgresPrograms() === undefined)(
  'a customer is forgotten whose address stands in a reject with other capital letters, in a database whose language is Turkish',
  async () => {
    const mirror = await openMirror(await aTurkishDatabase())
    onTestFinished(() => mirror.close())
    const customer = aCustomer(1, { email: 'info@hidden.example' })
    await night(mirror, 0, [customer, { email: 'INFO@HIDDEN.EXAMPLE' }, { email: 'other@hidden.example' }])

    const forgetting = { organization: 'acme', id: customerId(1), nowMs: START_MS, monotonicMs: undefined }
    const { deleted } = await mirror.forgetCustomer(forgetting)

    expect(deleted).toEqual({ customers: 1, changes: 0, rejects: 1 })
  },
)
