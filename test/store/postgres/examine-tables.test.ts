import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { type ExaminedTables, examineTables } from '../../../src/store/postgres/examine-server.ts'
import { pgliteConnections, startPglite } from '../../support/pglite-connections.ts'
import { anEmptyMirror } from '../../support/postgres/emptied.ts'

/* What would end a run is found before one begins. */

let server: PGlite
let schema: string
beforeAll(async () => {
  server = await startPglite()
  const connect = () => pgliteConnections(server)
  ;({ schema } = await openDatabase(await anEmptyMirror(), 'write', { connect }))
})

const NOTHING: ExaminedTables = { unwritable: null, unfilled: null, added: [] }

test.each<[string, string, string, Partial<ExaminedTables>]>([
  [
    'a column that no row can be inserted without',
    'ALTER TABLE runs ADD who text NOT NULL',
    'ALTER TABLE runs DROP who',
    { unfilled: 'runs.who' },
  ],
  ['a column with a default', 'ALTER TABLE runs ADD who text NOT NULL DEFAULT 1', 'ALTER TABLE runs DROP who', {}],
  ['a column that is NULL', 'ALTER TABLE runs ADD who text', 'ALTER TABLE runs DROP who', {}],
  [
    'a column that a trigger fills',
    `ALTER TABLE runs ADD who text NOT NULL; CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
     CREATE TRIGGER filling BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION fill()`,
    'ALTER TABLE runs DROP who; DROP FUNCTION fill() CASCADE',
    { added: ['trigger filling on runs'] },
  ],
  [
    'what may refuse a row, and no index that is not unique',
    `CREATE TABLE notes (organization text, id text, FOREIGN KEY (organization, id) REFERENCES customers (organization, id));
     CREATE UNIQUE INDEX one_email ON customers (email); CREATE INDEX many_names ON customers (name);
     ALTER TABLE changes ADD CONSTRAINT short CHECK (length(id) < 40); CREATE RULE none AS ON DELETE TO rejects DO INSTEAD NOTHING`,
    'DROP TABLE notes; DROP INDEX one_email, many_names; ALTER TABLE changes DROP CONSTRAINT short; DROP RULE none ON rejects',
    {
      added: [
        'constraint notes_organization_id_fkey on customers',
        'constraint short on changes',
        'rule none on rejects',
        'unique index one_email on customers',
      ],
    },
  ],
])('%s', async (_what, add, undo, expected) => {
  await run(add)
  const found = await examine()
  await run(undo)

  expect(found).toEqual({ ...NOTHING, ...expected })
})

test('a table that the user may not write is named, and one that someone else keeps in the schema is none of them', async () => {
  await run(`CREATE TABLE notes (id int); CREATE ROLE writer; GRANT USAGE ON SCHEMA ${schema} TO writer;
    GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO writer; REVOKE ALL ON notes FROM writer`)
  const allowed = await as('writer', examine)
  await run('REVOKE DELETE ON leases FROM writer')
  const refused = await as('writer', examine)
  await run('DROP TABLE notes; DROP OWNED BY writer; DROP ROLE writer')

  expect(allowed).toEqual(NOTHING)
  expect(refused).toEqual({ ...NOTHING, unwritable: 'leases' })
})

function examine(): Promise<ExaminedTables> {
  return examineTables((sql, parameters) => server.query(sql, parameters), schema)
}

async function run(sql: string): Promise<void> {
  await server.exec(`SET search_path = ${schema}; ${sql}; RESET search_path`)
}

async function as<Result>(role: string, work: () => Promise<Result>): Promise<Result> {
  await server.exec(`SET ROLE ${role}`)
  const result = await work()
  await server.exec('RESET ROLE')
  return result
}
