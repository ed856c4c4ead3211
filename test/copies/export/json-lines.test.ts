import { expect, test } from 'vitest'
import { type ExportColumn, jsonLinesFormat } from '../../../src/copies/format.ts'
import type { SqlValue } from '../../../src/copies/read-rows.ts'
import { exported } from './exported.ts'

type Kind = Partial<ExportColumn>

async function lineOf(value: SqlValue, kind: Kind = {}): Promise<string> {
  const column: ExportColumn = { name: 'value', type: 'TEXT', ...kind }
  return (await exported(jsonLinesFormat, [[value]], [column])).text
}

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
])('%s', async (_, value, kind, json) => {
  expect(await lineOf(value, kind)).toBe(`{"value":${json}}\n`)
})
