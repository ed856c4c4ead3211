import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, test } from 'vitest'
import { text } from '../../../src/store/port/sql.ts'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { vacuum } from '../../../src/store/postgres/vacuum.ts'
import { anEmptyMirror, pgliteConnections, startPglite } from '../../support/pglite-connections.ts'

/* What roles other than the owner of a mirror can do to it, or are kept from. */

let server: PGlite
beforeAll(async () => {
  server = await startPglite()
})

test('a row that is edited by hand runs no function of another role', async () => {
  const { database, schema } = await aMirrorWithCustomers()
  await server.exec(LIES_IN_WAIT)

  for (const edit of [`UPDATE ${schema}.customers SET name = 'Corrected'`, `DELETE FROM ${schema}.customers`])
    expect((await server.exec(edit)).at(-1)).toMatchObject({ affectedRows: 3 })
  await server.exec(`TRUNCATE ${schema}.customers`)

  await server.exec('DROP FUNCTION public.format(text, name)')
  expect(await database.read((session) => session.all(text('SELECT row_id FROM edited_customers')))).toEqual([])
})

/** It fits what the functions of the mirror ask for better than the one of PostgreSQL. */
const LIES_IN_WAIT = `
  CREATE FUNCTION public.format(text, name) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'ran as %', current_user;
  END $$`

test('vacuum by a role that writes all tables and owns none names the role that can free deleted rows', async () => {
  const { database, schema } = await aMirrorWithCustomers()
  await server.exec(`CREATE ROLE writer; GRANT USAGE ON SCHEMA ${schema} TO writer;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO writer; SET ROLE writer`)

  const freeing = await vacuum(database, ['customers', 'changes']).catch((error: unknown) => error)

  await server.exec('SET ROLE postgres; DROP OWNED BY writer; DROP ROLE writer')
  expect(freeing).toMatchObject({
    code: 'denied',
    message: expect.stringMatching(
      /the rows are deleted, .* who is postgres\. .* VACUUM \(ANALYZE\) mirror_\d+\.customers, mirror_\d+\.changes$/,
    ),
  })
  expect(await vacuum(database, ['customers', 'changes'])).toBe(true)
})

async function aMirrorWithCustomers() {
  const address = await anEmptyMirror()
  const database = await openDatabase(address, 'write', { connect: () => pgliteConnections(server) })
  await database.write((session) => session.run(text(CUSTOMERS)))
  return { address, database, schema: database.schema }
}

const CUSTOMERS = `
  INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id, updated_at)
  SELECT number, 'acme', number::text, 'epoch', 'epoch', 0, 'epoch' FROM generate_series(1, 3) AS number`
