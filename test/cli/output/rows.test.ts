import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { formatRows, type Layout } from '../../../src/cli/output/rows.ts'
import type { SqlValue } from '../../../src/copies/read-rows.ts'

function written(layout: Layout, columns: readonly string[], rows: readonly (readonly SqlValue[])[]): string {
  const format = formatRows(layout, columns)
  return format.open + rows.map((row) => format.row(row)).join('') + format.close()
}

/** Whatever acts on a terminal or means something to a format, and the numbers furthest from 0. */
const CONTROLS = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('')
const HOSTILE = `${CONTROLS}\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u{1f600}`
const COLUMNS = ['plain', HOSTILE]
const ROWS = [
  [HOSTILE, 2n ** 63n - 1n],
  [null, -(2n ** 63n)],
  ...Array.from('\0\u001b\u009b\u202e=\r\n', (sign) => [sign, '']),
]

/** A value as JSON has it once it is parsed with every digit. */
const parsed = (json: string): unknown =>
  JSON.parse(json, function exactly(_, value, context?: { source?: string }) {
    return typeof value === 'number' && context?.source !== undefined ? BigInt(context.source) : value
  })

test.each([0, 1, ROWS.length])('JSON, parsed, is what SQLite had, in a document of %d rows', (count) => {
  const layout = { format: 'json', before: '{\n  "rows": [', after: ']\n}\n' } as const
  const { rows }: { rows: object[] } = Object(parsed(written(layout, COLUMNS, ROWS.slice(0, count))))

  expect(rows.map((row) => Object.entries(row))).toEqual(
    ROWS.slice(0, count).map((row) => COLUMNS.map((column, index) => [column, row[index]])),
  )
})

test('every kind of value is exact, and columns of one name are told apart, in every format', () => {
  const statement = new Database(':memory:')
    .defaultSafeIntegers()
    .prepare<[], SqlValue[]>(
      `SELECT NULL AS none, '' AS empty, 9007199254740993 AS big, 1.0 AS one, -9e999 AS infinite, x'00ff' AS bytes, 'a' AS id, 'b' AS id`,
    )
  const names = statement.columns().map(({ name }) => name)
  const text = (layout: Layout) => written(layout, names, statement.raw().all())

  expect(text({ format: 'json', before: '[', after: ']', onOneLine: true })).toBe(
    '[{"none":null,"empty":"","big":9007199254740993,"one":1.0,"infinite":-9e999,"bytes":{"base64":"AP8="},"id":"a","id_2":"b"}]',
  )
  expect(text({ format: 'csv', isForTerminal: false })).toBe(
    `none,empty,big,one,infinite,bytes,id,id\r\n,"",9007199254740993,1.0,-9e999,x'00ff',a,b\r\n`,
  )
  expect(text({ format: 'table', nothing: 'NULL' })).toMatch(/^NULL +9007199254740993 +1\.0 +-9e999 +2 bytes +a +b$/m)
})

test.each([
  { format: 'table', nothing: 'NULL', screen: 40 },
  { format: 'csv', isForTerminal: true },
  { format: 'json', before: '', after: '' },
] as const)('nothing written as $format acts on a terminal', (layout) => {
  expect(written(layout, COLUMNS, ROWS).replaceAll(/\r?\n/g, '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
})

test('a very long value widens only the rows around it', () => {
  const rows = Array.from({ length: 900 }, (_, index) => [index === 800 ? 'y'.repeat(900_000) : 'Ada', BigInt(index)])
  const text = written({ format: 'table', nothing: 'NULL' }, ['name', 'number'], rows)

  expect(text.length).toBeLessThan(15_000_000)
  expect([...text.matchAll(/^\w+ +(\d+)$/gm)].map(([, number]) => Number(number))).toEqual(
    rows.map(([, number]) => Number(number)),
  )
})
