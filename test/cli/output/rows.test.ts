import Database from 'better-sqlite3'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatRows, type Layout } from '../../../src/cli/output/rows.ts'
import type { SqlValue } from '../../../src/copies/read-rows.ts'
import { anyCodePoint, seeds } from '../../support/seeds.ts'

function written(layout: Layout, columns: readonly string[], rows: readonly (readonly SqlValue[])[]): string {
  const format = formatRows(layout, columns)
  return format.open + rows.map((row) => format.row(row)).join('') + format.close()
}

/** Texts as SQLite gives them, in which what matters to a format comes often. */
const aText = fc
  .array(
    fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 3 }),
      fc.constantFrom(...'",\r\n\\\0\u001B\u009B\u202E= '.split('')),
    ),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join('').toWellFormed())
const aValue = fc.oneof(aText, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constant(null))
const someRows = fc.integer({ min: 1, max: 4 }).chain((width) =>
  fc.record({
    columns: fc.uniqueArray(aText, { minLength: width, maxLength: width }),
    rows: fc.array(fc.array(aValue, { minLength: width, maxLength: width }), { maxLength: 4 }),
  }),
)

/** A value as JSON has it once it is parsed with every digit. */
const parsed = (json: string): unknown =>
  JSON.parse(json, function exactly(_, value, context?: { source?: string }) {
    return typeof value === 'number' && context?.source !== undefined ? BigInt(context.source) : value
  })

test('JSON, parsed, is what SQLite had, and a document at any number of rows', () => {
  const layout = { format: 'json', before: '{\n  "rows": [', after: ']\n}\n' } as const
  fc.assert(
    fc.property(someRows, ({ columns, rows }) => {
      const expected = rows.map((row) => new Map(row.map((value, index) => [columns[index], value])))
      const asMaps = (found: unknown[]) => found.map((row) => new Map(Object.entries(Object(row))))

      expect(asMaps(Object(parsed(written(layout, columns, rows))).rows)).toEqual(expected)
    }),
    { numRuns: seeds(1000) },
  )
})

test('every kind of value is exact, and columns of one name are told apart, in every format', () => {
  const statement = new Database(':memory:')
    .defaultSafeIntegers()
    .prepare<[], SqlValue[]>(
      `SELECT NULL AS none, '' AS empty, 9007199254740993 AS big, 1.0 AS one, -9e999 AS infinite, x'00ff' AS bytes, 'a' AS id, 'b' AS id`,
    )
  const text = (layout: Layout) =>
    written(
      layout,
      statement.columns().map(({ name }) => name),
      statement.raw().all(),
    )

  expect(text({ format: 'json', before: '[', after: ']', onOneLine: true })).toBe(
    '[{"none":null,"empty":"","big":9007199254740993,"one":1.0,"infinite":-9e999,"bytes":{"base64":"AP8="},"id":"a","id_2":"b"}]',
  )
  expect(text({ format: 'csv', isForTerminal: false })).toBe(
    `none,empty,big,one,infinite,bytes,id,id\r\n,"",9007199254740993,1.0,-9e999,x'00ff',a,b\r\n`,
  )
  expect(text({ format: 'table', nothing: 'NULL' })).toMatch(/^NULL +9007199254740993 +1\.0 +-9e999 +2 bytes +a +b$/m)
})

test('nothing in a table or in JSON acts on a terminal, nor in CSV for one', () => {
  fc.assert(
    fc.property(someRows, ({ columns, rows }) => {
      for (const layout of [
        { format: 'table', nothing: 'NULL', screen: 40 },
        { format: 'csv', isForTerminal: true },
        { format: 'json', before: '', after: '' },
      ] as const)
        expect(written(layout, columns, rows).replaceAll(/\r?\n/g, '')).not.toMatch(
          /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u,
        )
    }),
    { numRuns: seeds(1000) },
  )
})

test('a very long value widens only the rows around it', () => {
  const rows = Array.from({ length: 900 }, (_, index) => [index === 800 ? 'y'.repeat(900_000) : 'Ada', BigInt(index)])
  const text = written({ format: 'table', nothing: 'NULL' }, ['name', 'number'], rows)

  expect(text.length).toBeLessThan(15_000_000)
  expect([...text.matchAll(/^\w+ +(\d+)$/gm)].map(([, number]) => Number(number))).toEqual(
    rows.map(([, number]) => Number(number)),
  )
})
