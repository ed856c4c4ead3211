import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { text } from '../../src/store/port/sql.ts'
import { openDatabase } from '../../src/store/postgres/open-database.ts'
import { move } from '../support/commands.ts'
import { aFullMirror } from '../support/full-mirror.ts'
import { opsFile } from '../support/metrics.ts'
import { pgliteConnections } from '../support/pglite-connections.ts'
import { aPostgresMirror } from '../support/postgres/statement.ts'
import { openKeptPglite } from '../support/postgres/server.ts'

const SCRIPT = opsFile('postgres/partition-customers.sql')

test('customers in partitions has the rows, indexes, triggers, views and rights from before', async () => {
  const { ask, schema } = await aMirror()
  await ask('GRANT SELECT ON customers, active_customers TO PUBLIC')
  await ask(ADDED)
  const [before, views, rows] = [await ask(MADE, [schema]), await ask(SHOWN), await ask(ROWS)]

  await ask(SCRIPT)

  expect(await ask(KIND)).toEqual([{ relkind: 'p' }])
  const parts = await ask(`SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'customers'::regclass`)
  expect(parts).toEqual([{ count: 16 }])
  expect(await ask(MADE, [schema])).toEqual(before)
  expect(await ask(SHOWN)).toEqual(views)
  expect(await ask(ROWS)).toEqual(rows)
  await ask(`DELETE FROM edited_customers; UPDATE customers SET name = 'by hand' WHERE organization = 'globex'`)
  expect(await ask('SELECT count(*)::int AS count FROM edited_customers')).toEqual([{ count: 10 }])
  await expect(ask(SCRIPT)).rejects.toThrow('customers is in partitions already')
})

test.each([
  ['updated', `UPDATE PARTITION SET name = 'by hand' WHERE organization = 'globex'`, 10],
  ['deleted', `DELETE FROM PARTITION WHERE organization = 'globex'`, 10],
  ['truncated', 'TRUNCATE PARTITION', 0],
])('rows that are %s in a partition itself are noted as those in customers are', async (_, statement, edited) => {
  const { ask } = await aMirror()
  await ask(`DELETE FROM edited_customers; ${SCRIPT}`)
  const [held] = await ask(`SELECT DISTINCT tableoid::regclass AS part FROM customers WHERE organization = 'globex'`)

  await ask(statement.replace('PARTITION', String(held?.part)))

  const counted = `SELECT count(*)::int FROM edited_customers WHERE organization = 'globex'`
  expect(await ask(counted)).toEqual([{ count: edited }])
  expect(await ask('SELECT organization FROM lists')).toEqual(edited === 0 ? [] : [{ organization: 'acme' }])
})

test('a role that may read some rows and columns of customers reads no more in partitions, and none of them itself', async () => {
  const { ask, schema } = await aMirror()
  await ask(`ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT ON TABLES TO PUBLIC; ${ADDED}`)
  await ask(`ALTER TABLE customers FORCE ROW LEVEL SECURITY; GRANT USAGE ON SCHEMA ${schema} TO reader`)
  await ask('REVOKE ALL ON customers FROM PUBLIC')
  const all = await ask('SELECT count(*) FROM customers')
  const asReader = (sql: string) => ask(`SET LOCAL ROLE reader; ${sql}`)

  for (const script of ['', SCRIPT]) {
    await ask(script)
    expect(await asReader('SELECT count(id)::int FROM customers')).toEqual([{ count: 10 }])
    expect(await asReader('SELECT count(*)::int FROM addresses')).toEqual([{ count: 10 }])
    await expect(asReader('SELECT name FROM customers')).rejects.toThrow('permission denied for table customers')
  }
  await expect(asReader('SELECT id FROM customers_3')).rejects.toThrow('permission denied for table customers_3')
  expect(await ask('SELECT count(*) FROM customers')).toEqual(all)
})

test.each([
  ['RULE added AS ON DELETE TO customers DO ALSO NOTIFY gone', 'rule added on table customers'],
  ['TABLE added (LIKE customers) INHERITS (customers)', 'table added'],
  ['FUNCTION added(customers) RETURNS text LANGUAGE sql AS $$SELECT $1.id$$', 'function added(customers)'],
  ['MATERIALIZED VIEW added AS SELECT count(*) FROM customers', 'materialized view added'],
  ['PUBLICATION added FOR TABLE customers', 'publication of table customers in publication added'],
])('what cannot be kept is named, and nothing is changed: %s', async (added, named) => {
  const { ask } = await aMirror()
  await ask(`CREATE ${added}`)

  await expect(ask(SCRIPT)).rejects.toThrow(`since this would be lost: ${named}`)

  expect(await ask(KIND)).toEqual([{ relkind: 'r' }])
})

test('a view of another role over customers is named, and nothing is changed', async () => {
  const { ask, schema } = await aMirror()
  const views = 'active_customers customers_normalized freshness customers_history customers_daily held_removals'
  await ask(`${ROLES}; GRANT ALL ON SCHEMA ${schema} TO keeper; GRANT SELECT ON mirror_schema TO keeper`)
  for (const table of ['customers', ...views.split(' ')]) await ask(`ALTER TABLE ${table} OWNER TO keeper`)
  await ask('CREATE VIEW theirs AS SELECT id FROM customers')

  await expect(ask(`SET LOCAL ROLE keeper; ${SCRIPT}`)).rejects.toThrow('since this would be lost: view theirs')
  await expect(ask(SCRIPT)).rejects.toThrow('customers belongs to keeper: run this as that role')

  expect(await ask(KIND)).toEqual([{ relkind: 'r' }])
})

const KIND = `SELECT relkind FROM pg_class WHERE oid = 'customers'::regclass`

const ROLES = `
  DO $$ BEGIN CREATE ROLE reader; CREATE ROLE keeper; EXCEPTION WHEN duplicate_object THEN NULL; END $$`

/** What an administrator adds to customers. */
const ADDED = `${ROLES};
  ALTER TABLE customers ENABLE ROW LEVEL SECURITY;
  CREATE POLICY few ON customers FOR SELECT TO reader USING (organization = 'globex');
  CREATE POLICY rest ON customers AS RESTRICTIVE USING (email IS NOT NULL) WITH CHECK (true);
  GRANT SELECT (organization, id, email), UPDATE (phone) ON customers TO reader WITH GRANT OPTION;
  ALTER VIEW active_customers SET (security_barrier = on);
  CREATE VIEW addresses WITH (security_invoker = on) AS SELECT email FROM customers;
  CREATE VIEW latest AS SELECT email FROM active_customers;
  GRANT SELECT ON addresses TO reader;
  CREATE STATISTICS ours ON language, timezone FROM customers;
  COMMENT ON TABLE customers IS 'ours';
  COMMENT ON COLUMN customers.name IS 'theirs'`

/** The definitions of what belongs to customers, and who may read it. */
const MADE = `
  SELECT pg_get_indexdef(indexrelid) AS what FROM pg_index WHERE indrelid = 'customers'::regclass
  UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'customers'::regclass
  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'customers'::regclass AND NOT tgisinternal
  UNION ALL SELECT to_json(pg_policies)::text FROM pg_policies WHERE schemaname = $1
  UNION ALL SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxrelid = 'customers'::regclass
  UNION ALL SELECT relname || ' ' || pg_get_viewdef(oid) FROM pg_class
    WHERE relnamespace = $1::text::regnamespace AND relkind = 'v'
  UNION ALL SELECT concat_ws(' ', relname, relacl, reloptions, relrowsecurity, relforcerowsecurity, obj_description(oid)) FROM pg_class WHERE relname IN ('customers', 'active_customers', 'addresses', 'latest')
    AND relnamespace = $1::text::regnamespace
  UNION ALL SELECT attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || attgenerated::text
      || concat_ws(' ', ' ', attcollation, attacl, col_description(attrelid, attnum))
    FROM pg_attribute WHERE attrelid = 'customers'::regclass AND attnum > 0
  ORDER BY 1`.replaceAll('pg_get_indexdef(indexrelid)', `replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')`)

const ROWS = ['customers', 'lists', 'list_columns', 'windows', 'absences', 'held_rows', 'edited_customers']
  .map((table) => `SELECT '${table}' AS table, to_json(${table})::text AS row FROM ${table}`)
  .join(' UNION ALL ')
  .concat(' ORDER BY 1, 2')

const SHOWN = 'SELECT organization, active, removed FROM freshness ORDER BY 1'

/** A full mirror in PostgreSQL, and statements in its schema. */
async function aMirror() {
  const file = await aFullMirror()
  const address = aPostgresMirror()
  expect(await move(file, address)).toMatchObject({ code: 0 })
  const url = new URL(address)
  const schema = url.searchParams.get('schema') ?? ''
  url.search = ''
  const client = new Client(url.href)
  await client.connect()
  onTestFinished(() => client.end())
  /** Each in a transaction of its own, since the server of the tests may have one session for all. Returns the rows of the last. */
  const ask = async (sql: string, parameters: unknown[] = []): Promise<Record<string, unknown>[]> => {
    await client.query(`BEGIN; SET LOCAL search_path = ${schema}; SET LOCAL client_min_messages = error`)
    try {
      const last = [await client.query<Record<string, unknown>>(sql, parameters)].flat().at(-1)
      await client.query('COMMIT')
      return last?.rows ?? []
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    }
  }
  return { ask, schema }
}

test('the mirror is made by its own role, and read but not written by that of analysts', async () => {
  const server = await openKeptPglite()
  await server.exec(`${opsFile('postgres/roles.sql')} CREATE ROLE stranger;`)
  await server.exec('SET SESSION AUTHORIZATION mirror')
  const open = (access: 'read' | 'write') =>
    openDatabase('postgres://db.test/crm', access, () => pgliteConnections(server))
  await open('write')
  await server.exec('REVOKE SELECT ON customer_mirror.fingerprint_key FROM analyst')
  await server.exec('RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION stranger')
  await expect(open('read')).rejects.toMatchObject({ message: expect.stringContaining('may not use the schema') })
  await server.exec('RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION analyst')

  const settings = await server.query(`SELECT unnest(rolconfig) AS setting FROM pg_roles WHERE rolname = 'analyst'`)
  expect(settings.rows).toEqual([{ setting: 'search_path=customer_mirror' }, { setting: 'TimeZone=UTC' }])
  const reader = await open('read')
  const { rows } = await server.query('SELECT count(*)::int AS count FROM customer_mirror.freshness')
  expect(rows).toEqual([{ count: 0 }])
  const numbers =
    await server.query(`SELECT has_sequence_privilege(name, 'SELECT') AS shown, has_sequence_privilege(name, 'UPDATE') AS given
    FROM pg_get_serial_sequence('customer_mirror.changes', 'seq') AS name`)
  expect(numbers.rows).toEqual([{ shown: true, given: false }])
  await expect(server.query('SELECT key FROM customer_mirror.fingerprint_key')).rejects.toThrow('permission denied')
  const deleting = reader.write((session) => session.run(text('DELETE FROM customers')))
  await expect(deleting).rejects.toMatchObject({ code: 'denied' })
})
