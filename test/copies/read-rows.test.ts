import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type Database from 'better-sqlite3'
import { type CustomersFilter, prepareToRead, readCustomers } from '../../src/copies/read-rows.ts'
import { openToRead } from '../../src/store/sqlite/open-to-read.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aPlayedFile, mirrorPages } from '../support/mirror-file.ts'

let file: string
let db: Database.Database
let untouched: State

beforeAll(async () => {
  file = join(mkdtempSync(join(tmpdir(), 'customer-mirror-')), 'customers.db')
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
  db = openToRead(file)
  // The first look itself makes the place for temporary tables known.
  stateNow()
  untouched = stateNow()
})
afterAll(() => {
  db.close()
  rmSync(dirname(file), { recursive: true })
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
  'WITH x AS (SELECT 1) UPDATE customers SET name = NULL',
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
  ['.schema', /not with "\.schema"\. The tables and their columns: customer-mirror sql --tables$/],
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

/*
 * Customers that a filter asks for.
 */

async function idsOf(place: string, filter: Partial<CustomersFilter>): Promise<unknown[]> {
  const found = await Array.fromAsync(readCustomers(place, { columns: ['id'], includeRemoved: false, ...filter }))
  return found.flatMap(({ rows }) => rows.flat())
}

const SEARCHED: Parameters<typeof aCustomer>[] = [
  [1, { name: 'Ada Example', username: 'ada', email: 'one@example.com' }],
  [2, { name: 'ÅSA ÉXAMPLE', username: 'asa', email: 'Asa@Example.SE' }],
  [3, { name: '100% Sure', username: 'sure', email: 'three@example.com' }],
  [4, { name: 'Under Score', username: 'under_score', email: null }],
]

const searched = (mirror: Mirror) => mirrorPages(mirror, [SEARCHED.map((each) => aCustomer(...each))])

test.each([
  ['a part of the name, in any case', 'ADA exa', [1]],
  ['a part of the username', 'asa', [2]],
  ['a part of the e-mail address', '@example.se', [2]],
  ['letters that are not ASCII, in any case', 'åsa é', [2]],
  ['a percent sign, which is itself', '%', [3]],
  ['an underscore, which is itself', '_', [4]],
  ['an asterisk, which is itself', '*', []],
  ['a quotation mark, which is itself', `' OR 1=1 --`, []],
])('a search finds %s', async (_, search, expected) => {
  expect(await idsOf(await aPlayedFile(searched), { search })).toEqual(expected.map(customerId))
})
