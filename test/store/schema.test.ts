import { expect, onTestFinished, test } from 'vitest'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { openMirror, openMirrorToRead, rehearseMirror } from '../../src/store/mirror.ts'
import { ORGANIZATION_TABLES } from '../../src/store/organizations.ts'
import { VERSION } from '../../src/store/schema/schema.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, aMirrorFile, dump, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'
import { aMirrorOf } from './nights.ts'

const OTHER = { name: 'MirrorUnusable', code: 'version' }
const OF_CUSTOMERS = ['active_customers', 'customers_daily', 'customers_history', 'customers_normalized']
const VIEWS = [...OF_CUSTOMERS, 'freshness', 'held_removals']

test('a new mirror has the documented tables and views, with the documented columns in order, those that runs need, and no others', async () => {
  const { file } = await aMirror()

  const needed = [...ORGANIZATION_TABLES, 'windows', 'fingerprint_key', 'last_update']
  const own = onPostgres ? ['mirror_schema', 'commits'] : ['unnoticed']
  const expected = new Set([...PUBLIC_TABLES.map(({ name }) => name), ...needed, ...own])
  expect(namesOf(file, 'table', 'view')).toEqual([...expected].toSorted())
  expect(namesOf(file, 'view')).toEqual(VIEWS)
  for (const { name, columns } of PUBLIC_TABLES) {
    const found = onPostgres
      ? `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attnum > 0 ORDER BY attnum`
      : `SELECT name FROM pragma_table_info('${name}')`
    expect(rowsOf(file, found), name).toEqual(columns.map((column) => ({ name: column.name })))
  }
})

test.each([
  ['an older', VERSION - 1],
  ['a newer', VERSION + 1],
])('a mirror of %s version is refused with what to do, and left as it is', async (_, version) => {
  const file = await aClosedMirror()
  setVersion(file, version)
  const before = dump(file)

  const said = `: another version .* \\(it is of version ${version}, .* version ${VERSION}\\).* sync anew\\.$`
  const rehearse = (place: string) => rehearseMirror(place, ['acme'])
  for (const open of [openMirror, openMirrorToRead, rehearse])
    await expect(open(file)).rejects.toMatchObject({ ...OTHER, message: expect.stringMatching(new RegExp(said)) })
  expect(dump(file)).toEqual(before)
})

const LACKING = 'lacks what belongs to a mirror'
const dropTrigger = (name: string) => `DROP TRIGGER ${name} ${onPostgres ? 'ON customers' : ''}`

test.each<[what: string, done: string[], code: string, named: string]>([
  ...VIEWS.flatMap((view): [string, string[], string, string][] => [
    [`without its view ${view}`, [`DROP VIEW ${view}`], 'damaged', `${LACKING} \\(${view}\\)\\. Put back a backup, or`],
    [
      `whose view ${view} has other columns`,
      [`DROP VIEW ${view}`, `CREATE VIEW ${view} AS SELECT organization FROM customers`],
      'foreign',
      `\\b${view}\\b.*, which was renamed or dropped`,
    ],
  ]),
  ...['customers.email', 'runs.warnings'].map((name): [string, string[], string, string] => {
    const [table = '', column = ''] = name.split('.')
    const rename = `ALTER TABLE ${table} RENAME COLUMN ${column} TO other`
    return [`with another name for ${name}`, [rename], 'foreign', `${table}.* ${column}|${table}\\.${column}`]
  }),
  ...['customers_edited', 'customers_deleted'].map((name): [string, string[], string, string] => {
    return [`without its trigger ${name}`, [dropTrigger(name)], 'damaged', `${LACKING} \\(${name}\\)`]
  }),
])('a mirror %s is refused, and that is named', async (_, done, code, named) => {
  const file = await aClosedMirror()
  for (const sql of done) tamper(file, sql)

  for (const open of [openMirror, openMirrorToRead])
    await expect(open(file)).rejects.toMatchObject({ code, message: expect.stringMatching(new RegExp(named)) })
})

async function aClosedMirror(): Promise<string> {
  const file = aMirrorFile()
  const mirror = await openMirror(file)
  await mirrorPages(mirror, [customers(1, 2)], { atMs: START_MS })
  await mirror.close()
  return file
}

function setVersion(file: string, version: number): void {
  tamper(file, onPostgres ? `UPDATE mirror_schema SET version = ${version}` : `PRAGMA user_version = ${version}`)
}

function namesOf(file: string, ...kinds: string[]): string[] {
  const sql = onPostgres
    ? `SELECT relname AS name, CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END AS type FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace`
    : `SELECT name, type FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`
  return rowsOf(file, sql)
    .filter(({ type }) => kinds.includes(String(type)))
    .map(({ name }) => String(name))
    .toSorted()
}

test('a mirror opened to read refuses to be written, and reads on', async () => {
  const file = await aClosedMirror()
  const reader = await openMirrorToRead(file)
  onTestFinished(() => reader.close())

  const writing = reader.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  await expect(writing).rejects.toMatchObject({ name: 'MirrorUnusable', code: 'denied' })
  expect(await reader.listRuns({ limit: 5 })).toHaveLength(1)
})

test('a run writes nothing more once another version has changed the mirror, is recorded as failed, and gives its organization free', async () => {
  const mirror = await aMirrorOf(customers(1, 3))
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + MINUTE_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS + MINUTE_MS)
  setVersion(mirror.file, VERSION + 1)
  const before = dump(mirror.file)

  await expect(mirror.savePages(run, [aPage(2, customers(4, 6))], START_MS)).rejects.toMatchObject(OTHER)
  await expect(mirror.finishRun(run, anEnding(), START_MS)).rejects.toMatchObject(OTHER)
  const retention = { changesMs: 0, resolvedRejectsMs: 0, runsMs: 0, removedCustomersMs: 0 }
  const reckoning = { asOfMs: START_MS + 60 * 24 * 60 * MINUTE_MS, isConfirmed: true }
  await expect(mirror.prune('acme', retention, reckoning)).rejects.toMatchObject(OTHER)
  expect(dump(mirror.file)).toEqual(before)

  const error = { code: 'version', message: 'acme: made up' }
  await mirror.finishRun(run, anEnding({ status: 'failed', proof: 'unproven', reasons: ['failed'], error }), START_MS)
  const [last] = rowsOf(mirror.file, 'SELECT status, error_code FROM runs ORDER BY id DESC LIMIT 1')
  expect(last).toEqual({ status: 'failed', error_code: 'version' })
  expect(rowsOf(mirror.file, 'SELECT * FROM leases')).toEqual([])
})

/** A date as no database function, or no program in another language, reads it. */
const UNREADABLE = onPostgres ? 'infinity' : 'in the evening'

test.each([
  ['customers', 'changed_at', `acme ${customerId(1)}`],
  ['customers', 'created_at_utc', `acme ${customerId(1)}`],
  ['runs', 'read_as_of', '1'],
  ['last_update', 'updated_at', '1'],
])('a date by a foreign hand that cannot be read is found in %s.%s', async (table, column, row) => {
  const mirror = await aMirrorOf([aCustomer(1)])
  expect(await mirror.findDamage()).toEqual([])
  tamper(mirror.file, `UPDATE ${table} SET ${column} = '${UNREADABLE}'`)

  const said = `${column} in the row ${row} of ${table} holds a time that cannot be read (${UNREADABLE})`
  await expect(mirror.findDamage()).rejects.toThrow(said)
})
