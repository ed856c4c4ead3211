import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { csvFormat, type ExportColumn, harmlessInSpreadsheet, jsonLinesFormat } from '../../../src/copies/format.ts'
import { blocksIn, PAGES } from '../../support/documents.ts'
import { aDuckDb, FACTS } from '../../support/exported-files.ts'
import { temporaryFolder } from '../../support/mirror-file.ts'
import type { SqlValue } from '../../../src/copies/read-rows.ts'

function exported(format: typeof jsonLinesFormat, rows: SqlValue[][], columns: ExportColumn[]): string {
  return [...format(rows, { ...FACTS, columns })].join('')
}

const write = (rows: SqlValue[][], settings = { excel: false }) => {
  const [first = ['']] = rows
  const columns = first.map((_, index): ExportColumn => ({ name: `c${index + 1}`, type: 'TEXT' }))
  return exported(csvFormat(settings), rows, columns)
}

/** What readers of CSV take for something else, or for the form of the whole file. */
const ODD = ['', ' ', 'NULL', '0049', '1e400', '"', ',', '#', '\\', '\\"', '\\.', 'a\ufeff', 'a\0b']

test.each<[string, SqlValue, string]>([
  ['text, after a head, in lines that end as RFC 4180 says', 'a', 'a'],
  ['NULL', null, ''],
  ['the empty text', '', '""'],
  ['a line end', 'a\nb', '"a\nb"'],
  ['a carriage return', 'a\rb', '"a\rb"'],
  ['spaces around', ' a ', '" a "'],
  ['a formula', '=1+1', '=1+1'],
  ['a large integer', 9_007_199_254_740_993n, '9007199254740993'],
  ['a REAL', 1.5, '1.5'],
  ['a BLOB', Buffer.from('ab'), "x'6162'"],
])('CSV %s', (_, value, field) => {
  expect(write([['x', value]])).toBe(`c1,c2\r\nx,${field}\r\n`)
})

test('CSV without rows has a head, and for a spreadsheet a byte order mark before it', () => {
  expect(write([])).toBe('c1\r\n')
  expect(write([['é']], { excel: true })).toBe('\uFEFFc1\r\né\r\n')
})

test('CSV DuckDB reads every value as it is with the documented statement, whatever customers wrote', async () => {
  const values = [...ODD, ...ODD.map((text) => `${text}\r\n${text}`), '漢'.repeat(100_000)]
  const text = write(values.map((value) => [value, null, '2024-01-01']))
  const file = join(temporaryFolder(), 'customers.csv')
  writeFileSync(file, text)
  const blocks = PAGES.flatMap((page) => blocksIn(page, 'duckdb')).filter(({ heading }) => heading === 'Without types')
  const [statement = ''] = blocks.map((block) => block.text.replace('customers.csv', file))

  const rows = await (await aDuckDb()).all(statement)

  expect(rows).toEqual(values.map((value) => ({ c1: value, c2: null, c3: '2024-01-01' })))
})

/** Texts that a spreadsheet makes another number or a date of, and texts that need no apostrophe. */
const CHANGED = ['0049123', '1e5', '1.5', '1/2', '10:30', '2024-01-02', '1234567890123456', '(030) 1234', '50%']
const KEPT = [
  ...['', '\ttab', 'Smith-Jones', 'a = b', 'ada@example.com', '12 Example Street', '5550100', '123456789012345'],
  ...['00000000-0000-4000-8000-000000000001', '12e45678-1e23-4e23-8123-123456789e12'],
  ...['2026-01-05 02:00:00.123', '2024-01-02T03:04:05.000000Z'],
]

test.each([
  ...CHANGED.map((text) => [text, `'${text}`]),
  ...KEPT.map((text) => [text, text]),
  ['=1+1', "'=1+1"],
  ['+1 555', "'+1 555"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "\t'=1"],
  ['  =1', "  '=1"],
  ['\u00A0\u200B\uFEFF=1', "\u00A0\u200B\uFEFF'=1"],
  ['\0=1', "\0'=1"],
  ['\uFF1D1', "'\uFF1D1"],
  ['\u3000\uFF0B1', "\u3000'\uFF0B1"],
  ['a;=1', "a;'=1"],
  [';=1', ";'=1"],
  ['a\n"=1"', `a\n"'=1"`],
  ['a\t@x|-y', "a\t'@x|'-y"],
])('for a spreadsheet %j becomes %j', (text, harmless) => {
  expect(harmlessInSpreadsheet(text)).toBe(harmless)
})

test('for a spreadsheet a value is as long as a cell at most, since what follows would begin a cell of its own', () => {
  expect(harmlessInSpreadsheet('a'.repeat(32_767))).toBe('a'.repeat(32_767))

  const cut = harmlessInSpreadsheet(`=${'a'.repeat(32_766)}=1+1`)
  expect(cut).toHaveLength(32_767)
  expect(cut).toMatch(/^'=a+ … \(cut off: 32771 characters\)$/)
})

type Kind = Partial<ExportColumn>
const JSON_COLUMN: Kind = { isJson: true }
const BOOLEAN: Kind = { type: 'BOOLEAN' }

test.each<[string, SqlValue, Kind, string]>([
  ['text', 'a "b"\n\0 é 😀', {}, String.raw`"a \"b\"\n\u0000 é 😀"`],
  ['NULL', null, {}, 'null'],
  ['the empty text', '', {}, '""'],
  ['an integer with all its digits', 9_007_199_254_740_993n, { type: 'INTEGER' }, '9007199254740993'],
  ['true', 1n, BOOLEAN, 'true'],
  ['false', 0n, BOOLEAN, 'false'],
  ['a BOOLEAN that is NULL', null, BOOLEAN, 'null'],
  ['a BOOLEAN that is neither', 2n, BOOLEAN, '2'],
  ['JSON as it is', '{"n":12345678901234567890,"a":[1.50]}', JSON_COLUMN, '{"n":12345678901234567890,"a":[1.50]}'],
  ['JSON of several lines', '{\n  "a": 1\r\n}', JSON_COLUMN, '{   "a": 1  }'],
  ['text that is no JSON', '{"a":', JSON_COLUMN, String.raw`"{\"a\":"`],
  ['JSON that is NULL', null, JSON_COLUMN, 'null'],
  ['what ends a line elsewhere', 'a\u2028b\u2029c\u0085', {}, String.raw`"a\u2028b\u2029c\u0085"`],
  ['the same within JSON', '{"a":"\u2028"}', JSON_COLUMN, String.raw`{"a":"\u2028"}`],
  ['a BLOB', Buffer.from('ab'), {}, '{"base64":"YWI="}'],
  ['a REAL', 1.5, {}, '1.5'],
  ['infinity, which JSON does not know', Infinity, {}, 'null'],
])('JSON lines: %s', (_, value, kind, json) => {
  const column: ExportColumn = { name: 'value', type: 'TEXT', ...kind }
  expect(exported(jsonLinesFormat, [[value]], [column])).toBe(`{"value":${json}}\n`)
})
