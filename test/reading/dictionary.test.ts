import { expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../src/reading/dictionary.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'

test.each(PUBLIC_TABLES.map((table) => [table.name, table] as const))(
  'a new mirror has every public column of %s, with its declared type',
  async (name, { columns }) => {
    const { file } = await aMirror()
    const types = rowsOf(file, 'SELECT name, type FROM pragma_table_xinfo(?)', name).map((row) => [
      row['name'],
      row['type'],
    ])

    // SQLite derives the types of views: it abbreviates this one, and knows none of some expressions.
    const declared = types.map(([column, type]) => [column, type === 'INT' ? 'INTEGER' : type])
    const found = new Map(types.map(([column]) => [column, true]))
    expect(columns.filter((column) => !found.has(column.name))).toEqual([])
    expect(Object.fromEntries(columns.map((column) => [column.name, column.type]))).toMatchObject(
      Object.fromEntries(declared.filter(([column, type]) => type !== '' && columns.some((c) => c.name === column))),
    )
  },
)

test('every column has a name of its own within its table, and a meaning', () => {
  for (const { name, meaning, columns } of PUBLIC_TABLES) {
    expect(meaning, name).not.toBe('')
    expect(new Set(columns.map((column) => column.name)).size, name).toBe(columns.length)
    expect(columns.filter((column) => column.meaning === '')).toEqual([])
  }
})

test('values that customers enter are marked as personal data wherever they are kept', () => {
  const personal = PUBLIC_TABLES.flatMap(({ name, columns }) =>
    columns.filter((column) => column.personal).map((column) => `${name}.${column.name}`),
  )

  expect(personal).toEqual(
    expect.arrayContaining([
      'customers.name',
      'customers.email',
      'customers.extra',
      'changes.fields',
      'rejects.payload',
    ]),
  )
})
