import { expect, test } from 'vitest'
import type { ExportRow } from '../../../src/copies/format.ts'
import { parquetFormat } from '../../../src/copies/parquet.ts'
import { customerId } from '../../support/builders.ts'
import { aDuckDb, column, FACTS, write } from '../../support/exported-files.ts'

test('rows are compressed by zstd, and written before all of them are read', async () => {
  let read = 0
  const readWhenWritten: number[] = []
  function* rows(): Generator<ExportRow> {
    for (; read < 50_000; read += 1) yield [customerId(read), 'Ada Lovelace']
  }
  const facts = { ...FACTS, columns: [column('id', 'TEXT'), column('name', 'TEXT')] }
  for (const _ of parquetFormat({ ids: 'text' })(rows(), facts)) readWhenWritten.push(read)
  expect(readWhenWritten[0]).toBeLessThan(20_000)

  const { file } = await write([column('id', 'TEXT')], [[customerId(1)]])
  const [metadata] = await (await aDuckDb()).all(`SELECT compression FROM parquet_metadata('${file}')`)
  expect(metadata).toEqual({ compression: 'ZSTD' })
})

test('values that are large end their row group before it holds many of them', async () => {
  const { writes, file } = await write(
    [column('extra', 'TEXT')],
    Array.from({ length: 40 }, (_, n): ExportRow => [String(n).padEnd(1_000_000, String(Math.random()))]),
  )

  expect(writes.length).toBeGreaterThan(4)
  const [found] = await (
    await aDuckDb()
  ).all(`SELECT count(*) AS rows, sum(length(extra)) AS characters FROM '${file}'`)
  expect(found).toEqual({ rows: '40', characters: '40000000' })
})
