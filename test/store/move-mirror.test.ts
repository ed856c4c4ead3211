import type { PGlite } from '@electric-sql/pglite'
import Database from 'better-sqlite3'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Copied, type Copying, copyRows, MOVED_TABLES } from '../../src/store/move-mirror.ts'
import type { Database as Postgres } from '../../src/store/port/postgres-connections.ts'
import { text } from '../../src/store/port/sql.ts'
import { sqliteSession } from '../../src/store/port/sqlite-store.ts'
import { mirrorOf, openDatabase } from '../../src/store/postgres/open-database.ts'
import { rowIdsFrom } from '../../src/store/runs/list-memory.ts'
import { COLUMNS } from '../../src/store/schema/schema.ts'
import { customerId } from '../support/builders.ts'
import { blocksIn, PAGES } from '../support/documents.ts'
import { aFullMirror, aSqliteMirror } from '../support/full-mirror.ts'
import { aMirror, type Row, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { anEmptyMirror, pgliteConnections, startPglite } from '../support/pglite-connections.ts'

let server: PGlite

beforeAll(async () => {
  server = await startPglite()
})

/** What the two kinds of store keep for themselves. */
const NOT_MOVED = ['dictionary', 'leases', 'mirror_schema', 'commits', 'unnoticed']

test('every table and every column of both stores is moved, or known to be made anew', async () => {
  const inFile = rowsOf((await aSqliteMirror()).file, SQLITE_COLUMNS)
  const onServer = await rowsOn(await aDatabase(), POSTGRES_COLUMNS)
  const moved = MOVED_TABLES.flatMap(({ name }) => (COLUMNS[name] ?? []).map((column) => `${name}.${column}`))

  for (const stored of [inFile, onServer]) {
    const own = stored.filter(({ table }) => !NOT_MOVED.includes(String(table)))
    expect(own.map(({ table, column }) => `${String(table)}.${String(column)}`).toSorted()).toEqual(moved.toSorted())
  }
})

test('a mirror goes to PostgreSQL and back, and all is as it was: rows, numbers, views, verbs, queries of the README', async () => {
  const file = await aFullMirror()
  tamper(file, `INSERT INTO windows VALUES (2, 0, 100, 100, 5, 0, ?, '[]')`, rowIdsFrom([61, 0, -1]))
  tamper(file, `INSERT INTO privacy_policies VALUES ('globex', '{}', '{}', 'changes', 7, '[]', 1)`)
  const database = await aDatabase()
  const { file: returned } = await aSqliteMirror()

  const there = await toPostgres(file, database)
  const spans = await rowsOn(database, SPANS)
  const back = await toSqlite(database, returned)

  expect(there).toEqual(back)
  expect(Object.entries(there).filter(([, rows]) => rows === 0)).toEqual([])
  expect(spans).toEqual([
    { organization: 'acme', min: 1, max: 73, count: 63 },
    { organization: 'globex', min: 61, max: 70, count: 10 },
  ])
  for (const { name } of MOVED_TABLES) {
    const numbers = ['row_id', 'row_ids', 'later_rows', 'pending_rows', 'next_row']
    const plain = (COLUMNS[name] ?? []).flatMap((column) => (numbers.includes(column) ? [] : [`"${column}"`]))
    const rows = `SELECT ${plain.join(', ')} FROM ${name} ORDER BY ${plain.join(', ')}`
    expect(rowsOf(returned, rows), name).toEqual(rowsOf(file, rows))
  }
  expect(rowsOf(returned, NAMES_OF_ROWS)).toEqual(rowsOf(file, NAMES_OF_ROWS))
  expect(await rowsOn(database, LISTED)).toEqual([
    { row_ids: '0100000029230000', later_rows: '000000000300000001000000', pending_rows: '020000002a230000' },
  ])
  const first = valueOf(returned, `SELECT min(row_id) FROM customers WHERE organization = 'globex'`)
  expect(valueOf(returned, 'SELECT row_ids FROM windows WHERE run_id = 2')).toEqual(rowIdsFrom([Number(first), 0, -1]))
  expect(valueOf(returned, `SELECT next_row FROM privacy_policies WHERE next_table = 'changes'`)).toBe(7)
  expect(rowsOf(returned, HIGHEST)).toEqual(rowsOf(file, HIGHEST))
  expect(valueOf(returned, 'PRAGMA foreign_key_check')).toBeUndefined()
  const queries = [...Object.entries(VIEWS).map(([view, columns]) => `SELECT ${columns} FROM ${view}`), ...QUERIES]
  for (const query of queries) {
    const rows = await rowsOn(database, query.replace(/;\s*$/, ''))
    expect({ query, rows: sorted(rows) }).toEqual({ query, rows: sorted(rowsOf(file, query)) })
  }
  const [here, original] = [mirrorOf(database), await aMirror(file)]
  for (const verb of VERBS) expect(await verb(here), String(verb)).toEqual(await verb(original))
})

const VERBS: ((mirror: Mirror) => Promise<unknown>)[] = [
  (mirror) => mirror.listRuns({ limit: 7 }),
  (mirror) => mirror.listRuns({ organization: 'acme', limit: 99 }),
  (mirror) => mirror.findRun(3),
  (mirror) => mirror.listFreshness(),
  (mirror) => mirror.listUncountedFreshness(),
  (mirror) => mirror.listLastRuns(),
  (mirror) => mirror.listLatestRuns({ organizations: ['globex', 'acme', 'nobody'], limit: 3 }),
  (mirror) => mirror.listRejects({ limit: 9 }),
  (mirror) => mirror.findKnownElsewhere('acme', ['acme', ...[2, 9, 101, 110].map(customerId)]),
]

const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted()

test('rows of one organization are copied without the others', async () => {
  const file = await aFullMirror()
  const database = await aDatabase()
  const rows = await toPostgres(file, database, { organizations: ['globex'], tables: ['runs', 'customers'] })

  expect(rows).toEqual({ runs: 4, customers: 10 })
})

test('the later order of one list is in memory at a time: it takes up to 8 bytes a customer', async () => {
  const file = await aFullMirror()
  const ofGlobex = `SELECT 'globex', run_id, reader, facts, later_rows, pending_rows FROM lists`
  tamper(file, `INSERT OR REPLACE INTO lists ${ofGlobex}`)
  const db = new Database(file, { readonly: true })
  onTestFinished(() => void db.close())
  const session = sqliteSession(db)
  let most = 0
  const counted = <Found>(rows: Found[]) => {
    most = Math.max(most, rows.length)
    return rows
  }
  const from: Copying['from'] = { ...session, all: async (statement) => counted(await session.all(statement)) }

  const copied = await (await aDatabase()).write((to) => copyRows({ from, tables: ['lists'], to }))
  expect(copied['lists']).toBeGreaterThan(1)
  expect(most).toBe(1)
})

test.each([
  ['changes', 'is changed', `NEW.fields = '{"of": "another"}'; RETURN NEW`, /^changes \(\d+\), fields$/],
  ['changes', 'is left out', 'RETURN NULL', /^changes: 0 rows in place of \d+$/],
  ['lists', 'has other bytes', `NEW.later_rows = '\\x00'; RETURN NEW`, /^lists \(acme\), later_rows$/],
])('a row of %s that %s where it is written is found', async (table, _, done, what) => {
  const database = await aDatabase()
  const ask = (sql: string) => database.write((session) => session.run(text(sql)))
  await ask(`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${done}; END $$`)
  await ask(`CREATE TRIGGER spoil BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION spoil()`)
  onTestFinished(() => ask('DROP FUNCTION spoil CASCADE').then(() => {}))

  await expect(toPostgres(await aFullMirror(), database, { tables: [table] })).rejects.toThrow(what)
})

/** The columns of views, without those that depend on the clock. */
const VIEWS = {
  freshness:
    'organization, read_as_of, proven_as_of, proof, last_run_id, last_status, active, missing, removed, open_rejects, held, retired_at',
  customers_history:
    'organization, id, valid_from, valid_to, valid_from_after, valid_to_after, opened_by, closed_by, name, username, email, extra',
  customers_daily: 'organization, day, active, added, removed, changed',
}

const SQLITE_COLUMNS = `SELECT tables.name AS "table", columns.name AS "column" FROM sqlite_schema AS tables
  JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'`

const POSTGRES_COLUMNS = `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
  JOIN information_schema.tables USING (table_schema, table_name)
  WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`

/** What row numbers refer to, by the id of the customer. */
const NAMES_OF_ROWS = `SELECT 'absences', organization, id FROM absences JOIN customers USING (organization, row_id)
  UNION SELECT 'held', organization, id FROM held_rows JOIN customers USING (organization, row_id)
  UNION SELECT 'edited', organization, id FROM edited_customers JOIN customers USING (organization, row_id)
  ORDER BY 1, 2, 3`

const SPANS = 'SELECT organization, min(row_id), max(row_id), count(*) FROM customers GROUP BY 1 ORDER BY 1'

const LISTED = `SELECT encode(row_ids, 'hex') AS row_ids, encode(later_rows, 'hex') AS later_rows, encode(pending_rows, 'hex') AS pending_rows FROM lists JOIN list_columns USING (organization)`

const HIGHEST = `SELECT name, seq FROM sqlite_sequence WHERE name <> 'edited_customers' ORDER BY name`

async function aDatabase(): Promise<Postgres> {
  return openDatabase(await anEmptyMirror(), 'write', () => pgliteConnections(server))
}

function rowsOn(database: Postgres, query: string): Promise<Row[]> {
  return database.read((session) => session.all<Row>(text(query)))
}

const differing = (what: string) => new Error(what)

function toPostgres(file: string, database: Postgres, options: Partial<Copying> = {}): Promise<Copied> {
  const db = new Database(file, { readonly: true })
  return database
    .write((session) => copyRows({ from: sqliteSession(db), to: session, differing, ...options }))
    .finally(() => db.close())
}

function toSqlite(database: Postgres, file: string): Promise<Copied> {
  const db = new Database(file)
  return database
    .read((session) => copyRows({ from: session, to: sqliteSession(db), differing }))
    .finally(() => db.close())
}

const QUERIES = PAGES.filter(({ name }) => name === 'README.md')
  .flatMap((page) => blocksIn(page, 'sql'))
  .map((block) => block.text.trim())
