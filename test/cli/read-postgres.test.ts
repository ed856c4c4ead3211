import { expect, test } from 'vitest'
import { sqlCommand } from '../../src/cli/sql.ts'
import { readablePostgres } from '../../src/copies/readable-statement.ts'
import { runCommand } from '../support/run-command.ts'

test.each([
  ['-- all of them\n/* now */ ; SELECT 1', 'SELECT 1'],
  ['with a as (select 1) table a', 'with a as (select 1) table a'],
  ['EXPLAIN (ANALYZE, COSTS off) SELECT 1', 'EXPLAIN (ANALYZE, COSTS off) SELECT 1'],
  ['explain analyze verbose values (1)', 'explain analyze verbose values (1)'],
  ['SHOW server_version', 'SHOW server_version'],
])('a statement that reads goes to the server without what stands before it: %s', (sql, text) => {
  expect(readablePostgres(sql)).toBe(text)
})

test.each([
  ['DELETE FROM customers', /would write/],
  ['EXPLAIN (ANALYZE) DELETE FROM customers', /explains SELECT, WITH, VALUES and TABLE only/],
  ['explain analyze verbose update customers set name = 1', /explains SELECT/],
  ['COMMIT', /needs no transaction/],
  ['DO $$ BEGIN END $$', /starts with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW, not with "DO"/],
  ['COPY customers TO STDOUT', /not with "COPY"/],
  ['SET ROLE mirror', /not with "SET"/],
  ['PRAGMA table_info(customers)', /PRAGMA is of SQLite/],
  [String.raw`\d customers`, /is a command of the program psql/],
  [' ; ', /There is no statement/],
])('whatever else is refused before the server is asked: %s', (sql, said) => {
  expect(() => readablePostgres(sql)).toThrow(said)
})

test('a password on the command line is refused without being repeated', async () => {
  const { code, stderr } = await runCommand(sqlCommand, [
    '--mirror',
    'postgres://ann:hunter2@127.0.0.1/crm',
    'SELECT 1',
  ])

  expect(code).toBe(2)
  expect(stderr).toMatch(/^--mirror holds a password/)
  expect(stderr).not.toContain('hunter2')
})
