import fc from 'fast-check'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UsageError } from '../../src/errors/errors.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { openToRead, type OpenedToRead } from '../../src/copies/open-to-read.ts'
import { prepareToRead } from '../../src/copies/sqlite-statement.ts'
import { customers } from '../support/builders.ts'
import { mirrorPages } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

let file: string
let opened: OpenedToRead
let untouched: State

beforeAll(async () => {
  file = join(mkdtempSync(join(tmpdir(), 'customer-mirror-')), 'customers.db')
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 5)])
  await mirror.close()
  opened = openToRead(file)
  // The first look itself makes the place for temporary tables known.
  stateNow()
  untouched = stateNow()
})
afterAll(() => {
  opened.close()
  rmSync(dirname(file), { recursive: true })
})

test.each([
  'SELECT 1',
  'select 1;',
  ' \n;; /* first */ -- second\n SELECT 1 ; -- last',
  '\uFEFFSELECT 1',
  'WITH x AS (SELECT 1) SELECT * FROM x',
  'VALUES (1), (2)',
  'EXPLAIN SELECT 1',
  'explain /* how */ query -- is it\n plan WITH x AS (SELECT 1) SELECT * FROM x',
  `SELECT name FROM pragma_table_info('customers')`,
  `SELECT 'DELETE FROM customers; ATTACH'`,
])('%j only reads', (sql) => {
  expect(prepareToRead(opened.db, sql).all()).not.toEqual([])
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
  'EXPLAIN DELETE FROM customers',
  'EXPLAIN PRAGMA writable_schema = 1',
  'EXPLAIN QUERY PLAN PRAGMA writable_schema = 1',
  'PRAGMA query_only = OFF',
  'PRAGMA journal_mode = DELETE',
  'PRAGMA user_version/**/= 5',
  'PRAGMA encoding /**/ = "UTF-16"',
  'PRAGMA "writable_schema" = 1',
  'PRAGMA/**/writable_schema = 1',
  `PRAGMA temp_store_directory = '/tmp'`,
  'PRAGMA wal_checkpoint(TRUNCATE)',
  'PRAGMA optimize',
  'SELECT 1\0; DROP TABLE customers',
  '(SELECT 1)',
])('%j is refused before anything of it is run', (sql) => {
  expect(() => prepareToRead(opened.db, sql)).toThrow(UsageError)
  expect(stateNow()).toEqual(untouched)
})

test.each([
  ['  -- only a comment', /^There is no statement/],
  ['PRAGMA user_version', /not with "PRAGMA"\./],
  ['WITH x AS (SELECT 1) DELETE FROM customers', /would write/],
  ['selec 1', /starts with SELECT, .*, not with "selec"\./],
  ['.schema', /not with "\.schema"\. The tables and their columns: customer-mirror sql --tables$/],
])('%j is refused with the reason', (sql, said) => {
  expect(() => prepareToRead(opened.db, sql)).toThrow(said)
})

test('comments without end take no longer than their length', () => {
  for (const start of [' ', '/**/', '--\n', '; ', '/* '])
    expect(() => prepareToRead(opened.db, start.repeat(250_000))).toThrow(/no statement/)
})

/** Parts of statements that open, write or set something, with what such statements are made of. */
const PARTS = [
  ...partsIn(
    'ATTACH DETACH DATABASE VACUUM INTO PRAGMA EXPLAIN QUERY PLAN SELECT WITH VALUES INSERT UPDATE DELETE REPLACE',
  ),
  ...partsIn(
    'CREATE TEMP TABLE VIEW DROP ALTER REINDEX ANALYZE BEGIN IMMEDIATE COMMIT ROLLBACK SAVEPOINT RELEASE RETURNING',
  ),
  ...partsIn(
    'FROM WHERE SET AS writable_schema query_only journal_mode user_version wal_checkpoint optimize locking_mode',
  ),
  ...partsIn(
    'pragma_journal_mode pragma_optimize pragma_table_info load_extension temp_store_directory customers runs',
  ),
  ...partsIn(`sqlite_schema x id main temp 1 0 * COUNT(*) 'x' ? NULL ( ) , ; = . -- /* */ " \` [ ]`),
  ...['\n', '\t', '\uFEFF', '\0'],
]

function partsIn(text: string): string[] {
  return text.split(' ')
}

/** Statements that do what must not be done. */
const HOSTILE = [
  `ATTACH 'FOLDER/new.db' AS x`,
  `ATTACH 'file:FOLDER/new.db?mode=rwc' AS x`,
  `VACUUM INTO 'FOLDER/new.db'`,
  `VACUUM main INTO 'FOLDER/new.db'`,
  'DELETE FROM customers',
  'WITH x AS (SELECT 1) DELETE FROM customers RETURNING *',
  `UPDATE customers SET name = 'x'`,
  `INSERT INTO runs (organization) VALUES ('x')`,
  'CREATE TABLE x (y)',
  'CREATE TEMP TABLE x AS SELECT * FROM customers',
  'DROP TABLE customers',
  'PRAGMA journal_mode = DELETE',
  'PRAGMA wal_checkpoint(TRUNCATE)',
  'PRAGMA query_only = 0',
  'PRAGMA user_version = 9',
  'PRAGMA locking_mode = EXCLUSIVE',
  `SELECT load_extension('FOLDER/new')`,
  'SELECT * FROM pragma_optimize',
  'BEGIN IMMEDIATE',
  'ANALYZE',
]

const hostile = fc
  .tuple(
    fc.array(fc.constantFrom(...PARTS), { maxLength: 4 }),
    fc.constantFrom(...HOSTILE, 'SELECT 1', 'SELECT * FROM customers'),
    fc.array(fc.tuple(fc.nat(80), fc.constantFrom(...PARTS, '')), { maxLength: 3 }),
    fc.constantFrom(' ', '\n', '/**/', ' ; ', '--\n'),
  )
  .map(([before, statement, changes, gap]) => {
    const words = statement.split(' ')
    for (const [place, part] of changes) words.splice(place % (words.length + 1), part === '' ? 1 : 0, part)
    return [...before, ...words].join(gap).replaceAll('FOLDER', dirname(file))
  })

test('no statement changes a byte of the mirror, the connection, or makes a file', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        hostile,
        fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => parts.join(' ')),
      ),
      (sql) => {
        readSome(sql)
        expect(stateNow()).toEqual(untouched)
      },
    ),
    { numRuns: seeds(5000, { every: 50 }) },
  )
})

/** Some rows of a statement, if it may be run. */
function readSome(sql: string): void {
  try {
    let rows = 0
    for (const _ of prepareToRead(opened.db, sql).iterate()) if ((rows += 1) > 20) break
  } catch {
    // What matters is what it left behind.
  }
}

type State = ReturnType<typeof stateNow>

function stateNow() {
  return {
    bytes: readFileSync(file).toString('latin1'),
    files: [...readdirSync(dirname(file)), ...readdirSync('.')],
    attached: opened.db.prepare('SELECT name FROM pragma_database_list').pluck().all(),
    settings: ['query_only', 'journal_mode', 'locking_mode', 'writable_schema'].map((name) =>
      opened.db.pragma(name, { simple: true }),
    ),
    temporary: opened.db.prepare('SELECT COUNT(*) FROM sqlite_temp_schema').pluck().get(),
    isInTransaction: opened.db.inTransaction,
  }
}
