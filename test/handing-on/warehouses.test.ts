import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { CLOCKS, DAY_MS, organizationsOf } from '../store/nights.ts'
import { HOW_MANY_NIGHTS, playNight, publishedCopy, publishedFrom } from '../support/full-mirror.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aBlock, aReaderMachine, withPython } from './reader-machine.ts'

const DBT = fileURLToPath(new URL('../../docs/read/dbt', import.meta.url))
const HOUR_MS = DAY_MS / 24

test('the sources of dbt name columns that the copy has', () => {
  const table = z.object({ columns: z.array(z.object({ name: z.string() })) })
  const file = z.object({ sources: z.array(z.object({ tables: z.array(table) })) })
  const { sources } = file.parse(parse(readFileSync(join(DBT, 'models/sources.yml'), 'utf8')))
  const named = sources.flatMap(({ tables }) => tables).flatMap(({ columns }) => columns.map(({ name }) => name))
  const known = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)

  expect(named.length).toBeGreaterThan(3)
  expect(known).toEqual(expect.arrayContaining(named))
})

withPython('dbt', ['dbt.cli.main', 'dbt.adapters.duckdb'], (python) => {
  test('dbt finds the export fresh, whatever the age of a retired organization, and makes and tests its models', async () => {
    const mirror = await aMirror()
    for (let n = 0; n < HOW_MANY_NIGHTS; n += 1) await playNight(mirror, n, { startMs: lastNightAgo(4) })
    await (await organizationsOf(mirror.file)).retire('globex', { ...CLOCKS, nowMs: Date.now() })
    const copy = publishedFrom(mirror)
    const { folder, run, values } = await aReaderMachine({ copy, python })
    cpSync(DBT, join(folder, 'dbt'), { recursive: true })
    await run(aBlock('dbt'))
    const opening = { ...aBlock('DuckDB', 1), text: 'import duckdb\nwarehouse = duckdb.connect("warehouse.duckdb")' }
    const [active, languages] = await values(
      opening,
      'warehouse.sql("SELECT count(*) FROM active_customers").fetchall()',
      'warehouse.sql("SELECT * FROM customers_by_language ORDER BY ALL").fetchall()',
    )
    const expected = `SELECT organization, language, count(*) FROM active_customers
      GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST`

    expect(freshnessIn(folder)).toBe('pass')
    expect(active).toEqual([[valueOf(copy, 'SELECT count(*) FROM active_customers')]])
    expect(languages).toEqual(rowsOf(copy, expected).map((row) => Object.values(row)))
  })

  test('dbt fails for an organization that was not read for long, in an export of several files too', async () => {
    const copy = await publishedCopy({ startMs: lastNightAgo(30) })
    const env = { CUSTOMERS_PARQUET: 'exports/*.parquet' }
    const { folder, start } = await aReaderMachine({ copy, python, env })
    cpSync(DBT, join(folder, 'dbt'), { recursive: true })
    const block = aBlock('dbt')
    const [exporting = '', freshness = ''] = block.text.split('\n')
    const each = ['acme', 'globex'].map((id) => exporting.replace('-o customers', `--org ${id} -o exports/${id}`))
    const ended = await start({ ...block, text: ['mkdir exports', ...each, freshness].join('\n') }).ended

    expect(freshnessIn(folder), ended.stdout).toBe('error')
    expect(ended.code).toBe(1)
  })
})

/** When the five nights begin so that the last one was these hours ago. The list of globex was read a day before that. */
function lastNightAgo(hours: number): number {
  return Date.now() - (HOW_MANY_NIGHTS - 1) * DAY_MS - hours * HOUR_MS
}

function freshnessIn(folder: string): string | undefined {
  const report = z.object({ results: z.array(z.object({ status: z.string() })) })
  return report.parse(JSON.parse(readFileSync(join(folder, 'dbt/target/sources.json'), 'utf8'))).results[0]?.status
}
