import { expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../src/reading/dictionary.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'

const TABLES = PUBLIC_TABLES.map((table) => [table.name, table] as const)

test.each(TABLES)('SELECT * from %s returns its public columns, each with its declared type', async (name, table) => {
  const { file } = await aMirror()

  const found = rowsOf(file, 'SELECT name, type FROM pragma_table_xinfo(?)', name)

  // SQLite derives the types of views, and abbreviates this one.
  const typed = found.map((column) => [column['name'], column['type'] === 'INT' ? 'INTEGER' : column['type']])
  expect(typed).toEqual(table.columns.map(({ name: column, type }) => [column, type]))
})

test('every column has a name of its own within its table, and a meaning', () => {
  for (const { name, meaning, columns } of PUBLIC_TABLES) {
    expect(meaning, name).not.toBe('')
    expect(new Set(columns.map((column) => column.name)).size, name).toBe(columns.length)
    expect(columns.filter((column) => column.meaning === '')).toEqual([])
  }
})

test('a column of a table that is not NULL is declared so', async () => {
  const { file } = await aMirror()
  const views = new Set(rowsOf(file, `SELECT name FROM sqlite_schema WHERE type = 'view'`).map(({ name }) => name))
  for (const { name, columns } of PUBLIC_TABLES.filter((table) => !views.has(table.name))) {
    const found = rowsOf(file, 'SELECT name FROM pragma_table_xinfo(?) WHERE "notnull" OR pk', name)

    expect(
      columns.filter(({ nullable }) => !nullable).map((column) => column.name),
      name,
    ).toEqual(found.map((column) => column['name']))
  }
})

test('values that customers enter are marked as personal data wherever they are kept', () => {
  const personal = PUBLIC_TABLES.flatMap(({ name, columns }) =>
    columns.filter((column) => column.personal).map((column) => `${name}.${column.name}`),
  )

  expect(personal).toEqual(
    expect.arrayContaining([
      ...['customers.name', 'customers.email', 'customers.extra', 'changes.fields'],
      ...['rejects.payload', 'rejects.record_key'],
    ]),
  )
})
