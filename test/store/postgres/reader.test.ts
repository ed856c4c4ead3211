import { expect, test } from 'vitest'
import { translated } from '../../support/postgres/translated.ts'

const AT = '2026-02-03 04:05:06.070'

test.each([
  [
    'parameters by place and by name',
    `INSERT INTO leases VALUES (?, @who, 'a ? and :b', :at, :at, x'00ff', 1::int)`,
    [7, { who: 'acme', at: AT }],
    String.raw`INSERT INTO leases VALUES ($1, $2, 'a ? and :b', $3, $4, '\x00ff'::bytea, 1::int)`,
    [7, 'acme', AT, AT],
  ],
  ['the number of a row', 'SELECT rowid, * FROM runs', [], 'SELECT id, * FROM runs ORDER BY id', []],
  [
    'comparisons with nothing',
    'SELECT a IS ?, b IS NOT c, d IS NOT NULL FROM e',
    [true],
    'SELECT a IS NOT DISTINCT FROM $1, b IS DISTINCT FROM c, d IS NOT NULL FROM e',
    [1],
  ],
  ['a replaced row', 'REPLACE INTO e VALUES (?)', ['a'], 'INSERT INTO e VALUES ($1) ON CONFLICT DO NOTHING', ['a']],
])('a statement for SQLite is written for PostgreSQL: %s', (_, sql, given, expected, parameters) => {
  expect(translated(sql, given)).toEqual({ sql: expected, parameters })
})
