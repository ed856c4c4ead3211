import { expect, test } from 'vitest'
import { openMirror, openMirrorToRead, openOrganizations, rehearseMirror } from '../../src/store/mirror.ts'
import { ORGANIZATION_TABLES } from '../../src/store/organizations.ts'
import { VERSION } from '../../src/store/schema/schema.ts'
import { PUBLIC_TABLES, publicColumns } from '../../src/model/public-tables.ts'
import { customers, START_MS } from '../support/builders.ts'
import { aMirror, aMirrorFile, dump, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'
import { onPostgres } from '../support/mirror-choice.ts'

const VIEWS = ['active_customers', 'customers_daily', 'customers_history', 'freshness']

test('a new mirror has the documented tables and views, those that runs need, and no others', async () => {
  const { file } = await aMirror()

  const needed = [...ORGANIZATION_TABLES, 'windows', 'fingerprint_key', 'last_update']
  const expected = new Set([
    ...PUBLIC_TABLES.map(({ name }) => name),
    ...needed,
    ...(onPostgres ? ['mirror_schema', 'commits'] : ['unnoticed']),
  ])
  expect(namesOf(file, 'table', 'view')).toEqual([...expected].toSorted())
  expect(namesOf(file, 'view')).toEqual(VIEWS)
})

test.each(PUBLIC_TABLES.map(({ name }) => name))(
  'readers find %s with the documented columns, in that order',
  async (name) => {
    const { file } = await aMirror()

    const found = onPostgres
      ? rowsOf(
          file,
          `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attnum > 0 ORDER BY attnum`,
        )
      : rowsOf(file, 'SELECT name FROM pragma_table_info(?)', name)
    const documented = publicColumns(name).map((column) => column.name)
    // The number of a row comes first, and the schema of the table is the same in both databases.
    expect(found.map((column) => column['name'])).toEqual(documented)
  },
)

test.each([
  ['an older', VERSION - 1],
  ['a newer', VERSION + 1],
])('a mirror of %s version is refused with what to do, and left as it is', async (_, version) => {
  const file = await aClosedMirror()
  setVersion(file, version)
  const before = dump(file)

  for (const open of [
    openMirror,
    openMirrorToRead,
    openOrganizations,
    (place: string) => rehearseMirror(place, ['acme']),
  ])
    await expect(open(file)).rejects.toMatchObject({
      name: 'MirrorUnusable',
      code: 'version',
      message: expect.stringMatching(
        new RegExp(`: another version .* \\(it is of version ${version}, .* version ${VERSION}\\).* sync anew\\.$`),
      ),
    })
  expect(dump(file)).toEqual(before)
})

test.each(VIEWS)('a mirror without its view %s is refused, and the view named', async (view) => {
  const file = await aClosedMirror()
  tamper(file, `DROP VIEW ${view}`)

  for (const open of [openMirror, openMirrorToRead])
    await expect(open(file)).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining(`lacks what belongs to a mirror (${view}). Put back a backup, or`),
    })
})

test.each(VIEWS)('a mirror whose view %s has other columns is refused, and a column named', async (view) => {
  const file = await aClosedMirror()
  tamper(file, `DROP VIEW ${view}`)
  tamper(file, `CREATE VIEW ${view} AS SELECT organization FROM customers`)

  for (const open of [openMirror, openMirrorToRead])
    await expect(open(file)).rejects.toMatchObject({
      code: 'foreign',
      message: expect.stringMatching(new RegExp(`\\b${view}\\b.*, which was renamed or dropped`)),
    })
})

test.each([
  ['customers', 'email'],
  ['runs', 'warnings'],
])('a mirror whose table %s has another name for %s is refused, and both named', async (table, column) => {
  const file = await aClosedMirror()
  tamper(file, `ALTER TABLE ${table} RENAME COLUMN ${column} TO other`)

  await expect(openMirror(file)).rejects.toMatchObject({
    code: 'foreign',
    message: expect.stringMatching(new RegExp(`${table}.* ${column}|${table}\\.${column}`)),
  })
})

test.each(['customers_edited', 'customers_deleted'])('a mirror without its trigger %s is refused', async (trigger) => {
  const file = await aClosedMirror()
  tamper(file, onPostgres ? `DROP TRIGGER ${trigger} ON customers` : `DROP TRIGGER ${trigger}`)

  await expect(openMirror(file)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringContaining(`(${trigger})`),
  })
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
