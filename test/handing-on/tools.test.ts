import { spawn } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { freePort } from '../../bench/postgres-server.ts'
import { bucketAddressText } from '../../src/config/publish.ts'
import { openS3Store } from '../../src/copies/objects/bucket.ts'
import { publishBucket } from '../../src/copies/objects/publish-objects.ts'
import { aBucketPlan, BUCKET } from '../support/bucket-server.ts'
import { blocksIn, PAGES } from '../support/documents.ts'
import { HOW_MANY_NIGHTS, playNight, publishedCopy, publishedFrom } from '../support/full-mirror.ts'
import { aMirror, type Row, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aMirrorOfNights } from '../support/publishing.ts'
import { aBlock, aReaderMachine, blocksOf, withProgram, withPython } from '../support/reader-machine.ts'
import { PUBLIC_TABLES } from '../../src/model/public-tables.ts'
import { CLOCKS, organizationsOf } from '../store/nights.ts'
import { DAY_MS, HOUR_MS } from '../support/builders.ts'

/** The sections whose blocks are run, here and in the other files of this folder. */
const RUN = ['sqlite3', 'pandas', 'polars', 'DuckDB', 'Object storage', 'Datasette', 'dbt']

const LANGUAGES = `SELECT organization, language, count(*) AS customers FROM active_customers GROUP BY 1, 2 ORDER BY 1, 2`
const COUNTED = `SELECT organization, language, count(*) FROM active_customers GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST`
const TIMES = ['created_at_utc', 'first_seen_at', 'changed_at', 'missing_since', 'removed_at', 'updated_at']

test('every block of the page is in a section that is run', () => {
  const headings = blocksOf().map(({ heading }) => heading)

  expect(headings.filter((heading) => !RUN.includes(heading))).toEqual([])
  expect(RUN.map((section) => blocksOf(section).length)).toEqual([1, 1, 2, 3, 1, 2, 1])
})

withProgram('sqlite3', () => {
  test('sqlite3 writes a query of the copy as CSV', async () => {
    const { run, copy } = await aReaderMachine()
    const csv = await run(aBlock('sqlite3'), 'cat languages.csv')
    const rows = rowsOf(copy, LANGUAGES).map((row) => Object.values(row).join())

    expect(csv.trim().split(/\r?\n/)).toEqual(['organization,language,customers', ...rows])
  })
})

withPython('pandas', ['pandas'], (python) => {
  test('pandas reads the customers with their types', async () => {
    const { values, copy } = await aReaderMachine({ python })
    const [customers, types, languages] = await values(
      aBlock('pandas'),
      'json.loads(customers.to_json(orient="records", date_format="iso"))',
      'customers.dtypes.astype(str).to_dict()',
      'json.loads(languages.reset_index(name="customers").to_json(orient="records"))',
    )
    const utc = expect.stringMatching(/^datetime64\[\w+, UTC\]$/)

    expect(sorted(languages)).toEqual(sorted(rowsOf(copy, LANGUAGES)))
    expect(types).toMatchObject({ ...Object.fromEntries(TIMES.map((name) => [name, utc])), is_active: 'bool' })
    expect(customers).toEqual(rowsOf(copy, 'SELECT * FROM customers').map(asPandasShows))
  })
})

withPython('polars', ['polars'], (python) => {
  test('polars reads the Parquet file, with ids as text', async () => {
    const { run, values, copy } = await aReaderMachine({ python })
    await run(aBlock('polars', 0))
    const [types, languages] = await values(
      aBlock('polars', 1),
      '{name: str(customers.schema[name]) for name in ["id", "is_active", "updated_at"]}',
      'languages.to_dicts()',
    )

    expect(types).toEqual({ id: 'String', is_active: 'Boolean', updated_at: expect.stringMatching(/^Datetime\(.*UTC/) })
    expect(sorted(languages)).toEqual(sorted(rowsOf(copy, LANGUAGES)))
  })
})

function asPandasShows(row: Row): Row {
  const iso = (time: unknown) => (typeof time === 'string' ? new Date(`${time}Z`).toISOString() : null)
  const times = TIMES.map((name) => [name, iso(row[name])])
  return { ...row, ...Object.fromEntries(times), is_active: row['is_active'] === 1 }
}

const valuesOf = (file: string, sql: string) => rowsOf(file, sql).map((row) => Object.values(row))

/** NULL stands elsewhere in each program. */
function sorted(rows: unknown): unknown[] {
  return Array.isArray(rows) ? rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : []
}

/** Every table and view that DuckDB opens by its name. */
const SHOWN = 'customers active_customers changes runs rejects freshness customers_daily dictionary manifest'.split(' ')

withPython('DuckDB', ['duckdb'], (python) => {
  test('DuckDB reads the Parquet file with its types', async () => {
    const { run, values, copy } = await aReaderMachine({ python })
    await run(aBlock('DuckDB', 0))
    const [languages, types] = await values(
      aBlock('DuckDB', 1),
      'languages.fetchall()',
      `[str(type) for type in duckdb.sql("SELECT id, updated_at, is_active FROM 'customers.parquet'").types]`,
    )

    expect(languages).toEqual(valuesOf(copy, COUNTED))
    expect(types).toEqual(['VARCHAR', 'TIMESTAMP WITH TIME ZONE', 'BOOLEAN'])
  })
})

const EXTENSION = ['duckdb_extensions', 'duckdb_extension_sqlite_scanner']
withPython('DuckDB with its SQLite extension', EXTENSION, (python) => {
  test('DuckDB attaches the copy, reads every table, and finds by the queries of the README what SQLite finds', async () => {
    const { values, copy } = await aReaderMachine({ python })
    const queries = PAGES.filter(({ name }) => name === 'README.md')
      .flatMap((page) => blocksIn(page, 'sql'))
      .map(({ text }) => text.trim())
    const [days, versions, types, counts, , ...found] = await values(
      aBlock('DuckDB', 2),
      'days.fetchall()',
      'versions.order("ALL").fetchall()',
      '[str(type) for type in days.types]',
      `[duckdb.sql(f"SELECT count(*) FROM copy.{table}").fetchone()[0] for table in ${JSON.stringify(SHOWN)}]`,
      'duckdb.sql("USE copy")',
      ...queries.map((sql) => `duckdb.sql(${JSON.stringify(sql)}).fetchall()`),
    )
    const daily = 'SELECT organization, day, active, added, removed FROM customers_daily ORDER BY 1, 2'
    const history = `SELECT organization, id, valid_from, valid_to, name FROM customers_history
      ORDER BY organization, id, valid_from`

    expect(days).toEqual(valuesOf(copy, daily))
    expect(types).toEqual(['VARCHAR', 'VARCHAR', 'BIGINT', 'BIGINT', 'BIGINT'])
    expect(rowsWithMoments(versions)).toEqual(rowsWithMoments(valuesOf(copy, history)))
    expect(counts).toEqual(SHOWN.map((table) => rowsOf(copy, `SELECT 1 FROM ${table}`).length))
    expect(queries).toHaveLength(5)
    for (const [at, sql] of queries.entries()) {
      expect([sql, inOneOrder(found[at])]).toEqual([sql, inOneOrder(valuesOf(copy, sql))])
    }
  })
})

withPython('Datasette', ['datasette'], () => {
  test('Datasette serves the copy with its descriptions, facets and queries', async () => {
    const { start, copy } = await aReaderMachine()
    const serve = aBlock('Datasette', 0)
    const server = start({ ...serve, text: `exec ${serve.text.replace('--port 8001', '--port 0')}` })
    const [origin = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(await server.lineOnStderr(/running on http/)) ?? []
    const read = async (path: string) => (await fetch(`${origin}${path}`)).text()
    const asked = [...aBlock('Datasette', 1).text.matchAll(/'http:\/\/127\.0\.0\.1:8001(\/[^']*)'/g)]
    const [facets = '', days = ''] = await Promise.all(asked.map(([, path = '']) => read(path)))
    const queries = await Promise.all(
      ['languages', 'who_left'].map((name) => read(`/customers/${name}.json?_shape=array`)),
    )
    const [languages, left] = queries.map((text): unknown => JSON.parse(text))
    const organizations =
      'SELECT organization AS value, count(*) AS count FROM active_customers GROUP BY 1 ORDER BY 2 DESC'

    expect(JSON.parse(facets)).toMatchObject({
      filtered_table_rows_count: valueOf(copy, 'SELECT count(*) FROM active_customers'),
      facet_results: { organization: { results: rowsOf(copy, organizations) }, language: {} },
    })
    expect(JSON.parse(days)).toEqual(
      rowsOf(copy, 'SELECT organization, day, active, added, removed FROM customers_daily ORDER BY 1, 2'),
    )
    expect(sorted(languages)).toEqual(sorted(rowsOf(copy, LANGUAGES)))
    expect(left).toHaveLength(rowsOf(copy, "SELECT 1 FROM changes WHERE change = 'removed'").length)
    expect(await read('/customers/customers')).toContain('When the row last changed in any column, UTC')
    server.send('SIGTERM')
    await server.ended
  })
})

/** Rows with their times as numbers: other programs write a time with as many digits as it has. */
function rowsWithMoments(rows: unknown): unknown[][] {
  const isMoment = (value: unknown) => /^\d{4}-\d\d-\d\d \d\d:/.test(String(value))
  const momentOf = (value: unknown) => (isMoment(value) ? Date.parse(`${String(value)}Z`) : value)
  const shown = z.array(z.array(z.unknown())).parse(rows)
  return shown.map((row) => row.map(momentOf))
}

/** Rows that a query leaves in any order. In a view of SQLite that DuckDB reads, numbers are texts. */
function inOneOrder(rows: unknown): string[] {
  return rowsWithMoments(rows)
    .map((row) => JSON.stringify(row.map((value) => (typeof value === 'number' ? value.toString() : value))))
    .toSorted()
}

test('the page reads from the address that the plan of these tests publishes to', () => {
  expect(aBlock('Object storage').text).toContain(`${bucketAddressText(aBucketPlan('customers.db').to)}/`)
})

withPython('moto', ['moto', 'duckdb', 'duckdb_extensions', 'duckdb_extension_httpfs'], (python) => {
  test('DuckDB reads from an S3 server what was published, as the page shows it, and one of two publishers writes a manifest', async () => {
    const port = await freePort()
    const server = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
    onTestFinished(() => void server.kill('SIGKILL'))
    const endpoint = `http://127.0.0.1:${port}`
    await expect.poll(async () => (await fetch(`${endpoint}/${BUCKET}`, { method: 'PUT' })).ok).toBe(true)
    const env = { AWS_ACCESS_KEY_ID: 'writer', AWS_SECRET_ACCESS_KEY: 'of the writer', AWS_ENDPOINT_URL_S3: endpoint }
    const mirror = await aMirrorOfNights()
    await publishBucket(aBucketPlan(mirror), env)
    const { values } = await aReaderMachine({ python })
    const block = aBlock('Object storage')
    const here = `REGION 'eu-central-1', ENDPOINT '127.0.0.1:${port}', URL_STYLE 'path', USE_SSL false`
    const [languages, count] = await values(
      { ...block, text: block.text.replace("REGION 'eu-central-1'", here) },
      'languages.fetchall()',
      'customers.aggregate("count(*)").fetchall()',
    )

    expect(languages).toEqual(valuesOf(mirror, COUNTED))
    expect(count).toEqual([[32]])

    const store = openS3Store({ to: { bucket: BUCKET, prefix: 'x' } }, env)
    onTestFinished(() => store.close())
    const first = await store.replaceText('manifest.json', 'first', undefined)
    const again = await store.replaceText('manifest.json', 'again', undefined)
    const { version } = (await store.readText('manifest.json')) ?? {}
    const second = await store.replaceText('manifest.json', 'second', version)
    const late = await store.replaceText('manifest.json', 'late', version)

    expect([first, again, second, late]).toEqual([true, false, true, false])
    expect((await store.readText('manifest.json'))?.text).toBe('second')
    await store.ask()
  })
})

const DBT = fileURLToPath(new URL('../../docs/read/dbt', import.meta.url))

test('the sources of dbt name columns that the copy has', () => {
  const table = z.object({ columns: z.array(z.object({ name: z.string() })) })
  const file = z.object({ sources: z.array(z.object({ tables: z.array(table) })) })
  const { sources } = file.parse(parse(readFileSync(join(DBT, 'models/sources.yml'), 'utf8')))
  const named = sources.flatMap(({ tables }) => tables).flatMap(({ columns }) => columns.map(({ name }) => name))
  const known = PUBLIC_TABLES.find(({ name }) => name === 'active_customers')?.columns.map(({ name }) => name)

  expect(named.length).toBeGreaterThan(3)
  expect(known).toEqual(expect.arrayContaining(named))
})

withPython('dbt', ['dbt.adapters.duckdb'], (python) => {
  test('dbt makes and tests its models, finds an export fresh without a retired organization, and old where another one was not read for long', async () => {
    const mirror = await aMirror()
    for (let n = 0; n < HOW_MANY_NIGHTS; n += 1) await playNight(mirror, n, { startMs: lastNightAgo(4) })
    await (await organizationsOf(mirror.file)).retire('globex', { ...CLOCKS, nowMs: Date.now() })
    const copy = publishedFrom(mirror)
    const { folder, run, values } = await aReaderMachine({ copy, python })
    cpSync(DBT, join(folder, 'dbt'), { recursive: true })
    const [exporting = '', freshness = '', ...others] = aBlock('dbt').text.trim().split('\n')
    const old = exporting.replace('/srv/copies/customers.db', await publishedCopy({ startMs: lastNightAgo(30) }))
    const each = ['acme', 'globex'].map((id) => old.replace('-o customers', `--org ${id} -o exports/${id}`))
    await run({ ...aBlock('dbt'), text: ['mkdir exports', exporting, ...each].join('\n') })
    const [ends, active, languages] = await values(
      // In one process: each start of dbt takes as long as all that it does here.
      { ...aBlock('DuckDB', 1), text: dbtInOneProcess([freshness, ...others], 'exports/*.parquet') },
      'ends',
      'warehouse.sql("SELECT count(*) FROM active_customers").fetchall()',
      'warehouse.sql("SELECT * FROM customers_by_language ORDER BY ALL").fetchall()',
    )

    expect(ends).toEqual([
      ...[['pass'], ['success', 'success'], ['pass', 'pass', 'pass', 'pass']].map((all) => [true, all]),
      [false, ['error']],
    ])
    expect(active).toEqual([[valueOf(copy, 'SELECT count(*) FROM active_customers')]])
    expect(languages).toEqual(valuesOf(copy, COUNTED))
  })
})

/** A program that runs these command lines as dbt does, and then the first of them over another export. */
function dbtInOneProcess(lines: readonly string[], otherExport: string): string {
  const calls = lines.map((line) => JSON.stringify(line.split(' ').slice(1)))
  return `import os, duckdb
from dbt.cli.main import dbtRunner
ends = []
def dbt(args):
    done = dbtRunner().invoke(args)
    ends.append([done.success, [str(each.status) for each in done.result.results]])
for args in [${calls.join()}]: dbt(args)
os.environ["CUSTOMERS_PARQUET"] = "${otherExport}"
dbt(${calls[0]})
warehouse = duckdb.connect("warehouse.duckdb")`
}

/** When the five nights begin so that the last one was these hours ago. The list of globex was read a day before that. */
function lastNightAgo(hours: number): number {
  return Date.now() - (HOW_MANY_NIGHTS - 1) * DAY_MS - hours * HOUR_MS
}
