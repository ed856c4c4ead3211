import { expect, onTestFinished, test } from 'vitest'
import { oneStatement, postgresPrograms } from '../../bench/postgres-server.ts'
import { readCustomers } from '../../src/copies/read-rows.ts'
import { openMirror } from '../../src/store/open-postgres.ts'
import { startQuickPostgres } from '../support/postgres/server.ts'

test.skipIf(postgresPrograms() === undefined)(
  'a search finds upper and lower case of i in a database whose language is Turkish',
  async () => {
    const address = await aTurkishDatabase()
    await (await openMirror(address)).close()
    await oneStatement(
      address,
      `INSERT INTO customer_mirror.customers
         (row_id, organization, id, name, first_seen_at, changed_at, last_run_id, updated_at)
       SELECT row_id, 'acme', row_id, name, now(), now(), 1, now()
       FROM unnest(ARRAY['MIRIAM', 'miriam', 'İRİAM', 'other']) WITH ORDINALITY AS given (name, row_id)`,
    )
    const found: unknown[] = []

    for await (const { rows } of readCustomers(address, { columns: ['name'], search: 'Iriam', includeRemoved: false }))
      found.push(...rows.flat())

    expect(found).toEqual(['MIRIAM', 'miriam'])
  },
)

/** The address of a database on a server of its own, in which the small form of I is another letter than i. */
async function aTurkishDatabase(): Promise<string> {
  const server = await startQuickPostgres()
  onTestFinished(() => server.close())
  await oneStatement(server.url, `CREATE DATABASE turkish TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'`)
  return Object.assign(new URL(server.url), { pathname: '/turkish' }).href
}
