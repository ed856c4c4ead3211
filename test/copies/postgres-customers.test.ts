import { expect, test } from 'vitest'
import { oneStatement, postgresPrograms } from '../../bench/postgres-server.ts'
import { openMirror } from '../../src/store/open-postgres.ts'
import { readCustomers } from '../../src/copies/read-rows.ts'
import { aTurkishDatabase } from '../support/postgres/turkish-database.ts'

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
