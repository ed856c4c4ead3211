import { expect, test } from 'vitest'
import { sqlCommand } from '../../src/cli/sql.ts'
import { readablePostgres } from '../../src/copies/postgres-statement.ts'
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
  'DELETE FROM customers',
  'COMMIT',
  'DO $$ BEGIN END $$',
  'COPY customers TO STDOUT',
  'SET ROLE mirror',
  'PRAGMA table_info(customers)',
  String.raw`\d customers`,
])('whatever else is refused before the server is asked: %s', (sql) => {
  const [word = ''] = sql.split(' ')
  expect(() => readablePostgres(sql)).toThrow(`SELECT, WITH, VALUES, TABLE, EXPLAIN, SHOW, not with "${word}"`)
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
