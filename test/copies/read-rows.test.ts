import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type Database from 'better-sqlite3'
import { prepareToRead } from '../../src/copies/read-rows.ts'
import { openToRead } from '../../src/store/sqlite/open-to-read.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { aMirrorOfFive } from '../support/mirror-file.ts'

let file: string
let db: Database.Database
let untouched: State

beforeEach(async () => {
  file = await aMirrorOfFive()
  db = openToRead(file)
  onTestFinished(() => void db.close())
  // The first look itself makes the place for temporary tables known.
  stateNow()
  untouched = stateNow()
})

test.each([
  'SELECT 1',
  'select 1;',
  ' \n;; /* first */ -- second\n SELECT 1 ; -- last',
  '\uFEFFSELECT 1',
  'WITH x AS (SELECT 1) SELECT * FROM x',
  'VALUES (1), (2)',
  `SELECT name FROM pragma_table_info('customers')`,
  `SELECT 'DELETE FROM customers; ATTACH'`,
])('%j only reads', (sql) => {
  expect(prepareToRead(db, sql).all()).not.toEqual([])
})

test.each([
  `ATTACH '' AS other`,
  `DETACH main`,
  `VACUUM`,
  `VACUUM INTO 'copy.db'`,
  'REINDEX nocase',
  'ANALYZE',
  'BEGIN IMMEDIATE',
  'CREATE TEMP TABLE x (y)',
  'CREATE TEMP VIEW x AS SELECT 1',
  `INSERT INTO customers (id) VALUES ('x') RETURNING id`,
  'WITH x AS (SELECT 1) UPDATE customers SET name = NULL RETURNING id',
  'EXPLAIN PRAGMA writable_schema = 1',
  'PRAGMA query_only = OFF',
  'SELECT 1\0; DROP TABLE customers',
  '(SELECT 1)',
])('%j is refused before anything of it is run', (sql) => {
  expect(() => prepareToRead(db, sql)).toThrow(UsageError)
  expect(stateNow()).toEqual(untouched)
})

test.each([
  ['  -- only a comment', /^There is no statement/],
  ['PRAGMA user_version', /not with "PRAGMA"\./],
  ['WITH x AS (SELECT 1) DELETE FROM customers', /would write/],
  ['selec 1', /starts with SELECT, .*, not with "selec"\./],
  ['.schema', /not with "\.schema"\. The tables and their columns: 'customer-mirror sql --tables'$/],
])('%j is refused with the reason', (sql, said) => {
  expect(() => prepareToRead(db, sql)).toThrow(said)
})

type State = ReturnType<typeof stateNow>

function stateNow() {
  return {
    bytes: readFileSync(file).toString('latin1'),
    files: [...readdirSync(dirname(file)), ...readdirSync('.')],
    attached: db.prepare('SELECT name FROM pragma_database_list').pluck().all(),
    settings: ['query_only', 'journal_mode', 'locking_mode', 'writable_schema'].map((name) =>
      db.pragma(name, { simple: true }),
    ),
    temporary: db.prepare('SELECT COUNT(*) FROM sqlite_temp_schema').pluck().get(),
    isInTransaction: db.inTransaction,
  }
}
