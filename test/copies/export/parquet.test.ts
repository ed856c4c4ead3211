import { expect, test } from 'vitest'
import type { ExportColumn, ExportRow } from '../../../src/copies/format.ts'
import { parquetFormat } from '../../../src/copies/parquet.ts'
import type { SqlValue } from '../../../src/copies/read-rows.ts'
import { UsageError } from '../../../src/errors/errors.ts'
import { customerId } from '../../support/builders.ts'
import { aDuckDb, column, FACTS, write } from '../../support/exported-files.ts'

test('every value is read back as it is, with the type of its column, and NULL as NULL', async () => {
  const [later, json] = ['2026-01-05 02:00:00.123', '{"a": 1e2,"a":12345678901234567890}']
  const cases: [what: string, type: ExportColumn['type'], value: SqlValue, read: unknown][] = [
    ['a time to the millisecond', 'DATETIME', later, `${later}+00`],
    ['a time to the second', 'DATETIME', '2024-02-29 23:59:59', '2024-02-29 23:59:59+00'],
    ['the first year', 'DATETIME', '0001-01-01 00:00:00', '0001-01-01 00:00:00+00'],
    ['the last year', 'DATETIME', '9999-12-31 23:59:59', '9999-12-31 23:59:59+00'],
    ['true', 'BOOLEAN', 1n, true],
    ['false', 'BOOLEAN', 0n, false],
    ['a large integer', 'INTEGER', 9_007_199_254_740_993n, '9007199254740993'],
    ['id', 'TEXT', customerId(1), customerId(1)],
    ['the empty text', 'TEXT', '', ''],
    ['NUL', 'TEXT', 'a\0b', 'a\0b'],
    ['text of many scripts', 'TEXT', 'Ünïcode 客户 🦆', 'Ünïcode 客户 🦆'],
    ['half of a pair', 'TEXT', 'a\uD800b', 'a\uFFFDb'],
    ['a number where text should be', 'TEXT', 5n, '5'],
    ['JSON as it is', 'TEXT', json, json],
  ]
  const values = cases.map(([, , value]) => value)
  const rows = [values, values.map(() => null), values]
  const columns = cases.map(([what, type]) => column(what, type))
  const { file } = await write(columns, rows)
  const duckdb = await aDuckDb()
  const described = await duckdb.all(`DESCRIBE FROM '${file}'`)
  const [first = {}, second = {}, third = {}] = await duckdb.all(`FROM '${file}'`)

  expect(first).toEqual(Object.fromEntries(cases.map(([what, , , read]) => [what, read])))
  expect(new Set(Object.values(second))).toEqual(new Set([null]))
  expect(third).toEqual(first)
  const types = { DATETIME: 'TIMESTAMP WITH TIME ZONE', BOOLEAN: 'BOOLEAN', INTEGER: 'BIGINT', TEXT: 'VARCHAR' }
  expect(described.map(({ column_type: type }) => type)).toEqual(cases.map(([, type]) => types[type]))
})

test('ids have the type UUID where that is asked for', async () => {
  const { file } = await write([column('id', 'TEXT')], [[customerId(1)]], { ids: 'uuid' })

  const rows = await (await aDuckDb()).all(`SELECT id, typeof(id) AS type FROM '${file}'`)
  expect(rows).toEqual([{ id: customerId(1), type: 'UUID' }])
  await expect(write([column('id', 'TEXT')], [['not-an-id']], { ids: 'uuid' })).rejects.toThrow('A value of id in')
})

test.each<[string, ExportColumn, ExportRow[number]]>([
  ['a time that is none', column('at', 'DATETIME'), 'yesterday'],
  ['a REAL where an INTEGER should be', column('n', 'INTEGER'), 1.5],
  ['a BOOLEAN of 2', column('is', 'BOOLEAN'), 2n],
])('%s is an error that names the column and not the value', async (_, described, value) => {
  const written = write([described], [[value]])

  await expect(written).rejects.toThrow(UsageError)
  await expect(written).rejects.toThrow(`A value of ${described.name} in active_customers`)
  await expect(written).rejects.not.toThrow(String(value))
})

test('the metadata says what is exported, how current it is, and where the feed continues', async () => {
  const { file } = await write([column('name', 'TEXT')], [['Ada']], { changesSince: 0 })

  const duckdb = await aDuckDb()
  const rows = await duckdb.all(`SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata('${file}')`)
  expect(Object.fromEntries(rows.map(({ key, value }) => [key, value]))).toEqual({
    table: 'active_customers',
    exported_at: '2026-01-05 02:00:00.000',
    changes_since: '0',
    last_seq: '7',
    organizations: JSON.stringify([
      {
        ...{ organization: 'acme', run_id: 3, proof: 'proven', read_as_of: '2026-01-05 01:00:00.000' },
        ...{ proven_as_of: null, retired_at: '2026-01-04 12:00:00.000', active_customers: 2 },
      },
    ]),
  })
})

test('many rows come back in their order, over several row groups', async () => {
  const rows = Array.from({ length: 10_001 }, (_, n): ExportRow => [BigInt(n), `name ${n}`, n % 3 === 0 ? null : 'de'])
  const { file } = await write([column('n', 'INTEGER'), column('name', 'TEXT'), column('language', 'TEXT')], rows)

  const duckdb = await aDuckDb()
  const [found] = await duckdb.all(`
    SELECT count(*) AS rows, count(*) FILTER (WHERE name = 'name ' || n) AS named, count(language) AS languages,
      bool_and(n = file_row_number) AS in_order, (SELECT count(DISTINCT row_group_id) FROM parquet_metadata('${file}')) AS groups
    FROM read_parquet('${file}', file_row_number = true)`)
  expect(found).toEqual({ rows: '10001', named: '10001', languages: '6667', in_order: true, groups: '2' })
})

test('rows are compressed by zstd and written before all of them are read, and large values end their row group early', async () => {
  let read = 0
  const readWhenWritten: number[] = []
  function* rows(): Generator<ExportRow> {
    for (; read < 12; read += 1) yield [String(read).padEnd(1_000_000, String(Math.random()))]
  }
  const facts = { ...FACTS, columns: [column('extra', 'TEXT')] }
  for (const _ of parquetFormat({ ids: 'text' })(rows(), facts)) readWhenWritten.push(read)

  // Eight large rows, the four that are left, and the end of the file.
  expect(readWhenWritten).toEqual([7, 12, 12])
  const { file } = await write([column('id', 'TEXT')], [[customerId(1)]])
  const metadata = await (await aDuckDb()).all(`SELECT compression FROM parquet_metadata('${file}')`)
  expect(metadata).toEqual([{ compression: 'ZSTD' }])
})
