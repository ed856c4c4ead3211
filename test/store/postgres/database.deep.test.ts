import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, test } from 'vitest'
import { VERSION } from '../../../src/store/schema/schema.ts'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { mirrorOf } from '../../../src/store/open-postgres.ts'
import type { Database, Session } from '../../../src/store/port/postgres-session.ts'
import { fingerprintWith } from '../../../src/model/fingerprint.ts'
import { customerId } from '../../support/builders.ts'
import { through } from '../../support/breaking-connections.ts'
import { anAddress, pgliteConnections, startPglite } from '../../support/pglite-connections.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

describe('opening', () => {
  test('programs that make the same mirror at once make one', async () => {
    const address = anAddress()

    const all = await Promise.all([open(address), open(address), open(address)])

    expect(await all[0]?.read((session) => session.all('SELECT version FROM mirror_schema'))).toEqual([
      { version: VERSION },
    ])
  })

  test('a schema with tables of others is left as it is', async () => {
    const address = anAddress()
    const { schema } = await open(address)
    await server.exec(`DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.orders (id int)`)

    for (const access of ['read', 'write'] as const)
      await expect(open(address, access)).rejects.toMatchObject({
        code: 'foreign',
        message: expect.stringMatching(new RegExp(`the schema ${schema} holds tables .*schema=${schema}_2`)),
      })
  })

  test('a mirror of which tables were dropped is not made anew without them', async () => {
    const address = anAddress()
    const { schema } = await open(address)
    await server.exec(`DROP TABLE ${schema}.fingerprint_key; DROP TABLE ${schema}.runs CASCADE`)

    for (const access of ['read', 'write'] as const)
      await expect(open(address, access)).rejects.toMatchObject({
        code: 'damaged',
        message: expect.stringContaining(
          'lacks what belongs to a mirror (runs, fingerprint_key, freshness, customers_history, customers_daily)',
        ),
      })
  })

  test('each function of a mirror looks for names in pg_catalog alone', async () => {
    const { schema } = await open(anAddress())

    const found = `SELECT proname AS name, proconfig AS settings FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace`
    const { rows } = await server.query(`${found} ORDER BY proname`)

    expect(rows).toEqual(FUNCTIONS.map((name) => ({ name, settings: ['search_path=pg_catalog, pg_temp'] })))
  })

  test('if it cannot be completed, nothing is kept', async () => {
    const address = anAddress()
    const connect = () =>
      through(pgliteConnections(server), (client, sql, parameters) =>
        sql.includes('INSERT INTO dictionary') ? Promise.reject(new Error('made up')) : client.query(sql, parameters),
      )

    await expect(openDatabase(address, 'write', { connect })).rejects.toThrow('made up')
    await expect(open(address, 'read')).rejects.toMatchObject({ code: 'missing' })
  })
})

const FUNCTIONS = ['note_deleted', 'note_edited', 'note_truncated']

test.each([
  ['is complete', 'SELECT 1', ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY']],
  [
    'says something else of a column',
    `UPDATE dictionary SET meaning = 'else' WHERE "table" = 'runs' AND "column" = 'id'`,
    ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', 'BEGIN ISOLATION LEVEL READ COMMITTED'],
  ],
  [
    'says another type of a column',
    `UPDATE dictionary SET type = 'else' WHERE "table" = 'runs' AND "column" = 'id'`,
    ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', 'BEGIN ISOLATION LEVEL READ COMMITTED'],
  ],
  [
    'has lost its key',
    'DELETE FROM fingerprint_key',
    ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', 'BEGIN ISOLATION LEVEL READ COMMITTED'],
  ],
])('a mirror that %s is opened with no more transactions than it needs', async (_what, change, begun) => {
  const address = anAddress()
  const meanings = async (database: Database) =>
    database.read((session) =>
      session.all('SELECT meaning FROM dictionary UNION ALL SELECT key::text FROM fingerprint_key'),
    )
  const first = await openDatabase(address, 'write', onPglite)
  const before = await meanings(first)
  await first.write((session) => session.run(change))
  const transactions: string[] = []
  const connect = () =>
    through(pgliteConnections(server), (client, sql, parameters) => {
      transactions.push(...(/^BEGIN[^;]*/.exec(sql) ?? []))
      return client.query(sql, parameters)
    })

  const again = await openDatabase(address, 'write', { connect })

  expect(transactions).toEqual(begun)
  expect(await meanings(again)).toHaveLength(before.length)
  expect(
    await again.read((session) => session.first(`SELECT FROM dictionary WHERE 'else' IN (meaning, type)`)),
  ).toBeUndefined()
})

test('a transaction may be as long as its statements, whatever the role has', async () => {
  const database = await open(anAddress())
  await server.exec(`SET transaction_timeout = '7s'`)
  try {
    const kept = (session: Session) => session.first('SHOW transaction_timeout')

    expect(await database.read(kept)).toEqual({ transaction_timeout: '0' })
    expect(await database.write(kept)).toEqual({ transaction_timeout: '0' })
  } finally {
    await server.exec('RESET transaction_timeout')
  }
})

test('a key that another program makes at the same moment is the one that is kept, and that a run takes', async () => {
  const address = anAddress()
  const { schema } = await open(address)
  // As if it was inserted after this program saw that there is none.
  await server.exec(`
    CREATE FUNCTION ${schema}.made_meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF pg_trigger_depth() = 1 THEN INSERT INTO ${schema}.fingerprint_key VALUES (1, '${THEIRS}'); END IF;
      RETURN NEW;
    END $$;
    DELETE FROM ${schema}.fingerprint_key;
    CREATE TRIGGER meanwhile BEFORE INSERT ON ${schema}.fingerprint_key
    FOR EACH ROW EXECUTE FUNCTION ${schema}.made_meanwhile()`)

  const database = await open(address)
  await database.write((session) => session.run('DELETE FROM fingerprint_key'))
  const run = await mirrorOf(database).startRun({ organization: 'acme', trigger: 'sync', nowMs: 0 })

  const id = new DataView(new TextEncoder().encode(customerId(1)).buffer)
  expect(run.fingerprint.id(id, 0)).toBe(fingerprintWith(new TextEncoder().encode(THEIRS)).id(id, 0))
})

const THEIRS = 'sixteen letters.'

const onPglite = { connect: () => pgliteConnections(server) }

function open(address: string, access: 'read' | 'write' = 'write', connections = pgliteConnections(server)) {
  return openDatabase(address, access, { connect: () => connections })
}
