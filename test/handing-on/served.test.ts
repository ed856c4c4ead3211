import { expect, test } from 'vitest'
import { blocksIn, PAGES } from '../support/documents.ts'
import { HOW_MANY_NIGHTS, playNight, publishedFrom } from '../support/full-mirror.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aBlock, aReaderMachine, rowsWithMoments, withPython } from '../support/reader-machine.ts'

/** Every table and view that DuckDB opens by its name. */
const OPENED = 'customers active_customers changes runs rejects freshness customers_daily dictionary manifest'.split(
  ' ',
)

test('days are a table of the copy with declared types, and hold what the view of the mirror shows', async () => {
  const mirror = await aMirror()
  for (let n = 0; n < HOW_MANY_NIGHTS; n += 1) await playNight(mirror, n)
  const copy = publishedFrom(mirror)
  const columns = rowsOf(copy, `SELECT name || ' ' || type AS declared FROM pragma_table_info('customers_daily')`)
  const days = 'SELECT * FROM customers_daily ORDER BY organization, day'

  expect(valueOf(copy, `SELECT type FROM sqlite_schema WHERE name = 'customers_daily'`)).toBe('table')
  expect(columns.map(({ declared }) => declared)).toEqual([
    ...['organization TEXT', 'day TEXT'],
    ...['active INTEGER', 'added INTEGER', 'removed INTEGER', 'changed INTEGER'],
  ])
  expect(rowsOf(copy, days).length).toBeGreaterThan(HOW_MANY_NIGHTS)
  expect(rowsOf(copy, days)).toEqual(rowsOf(mirror.file, days))
})

withPython('DuckDB', ['duckdb'], (python) => {
  test('DuckDB reads the Parquet file with its types', async () => {
    const { run, values, copy } = await aReaderMachine({ python })
    await run(aBlock('DuckDB', 0))
    const [languages, types] = await values(
      aBlock('DuckDB', 1),
      'languages.fetchall()',
      `[str(type) for type in duckdb.sql("SELECT id, updated_at, is_active FROM 'customers.parquet'").types]`,
    )
    const expected = `SELECT organization, language, count(*) FROM active_customers
      GROUP BY 1, 2 ORDER BY 1, 2 NULLS LAST`

    expect(languages).toEqual(rowsOf(copy, expected).map((row) => Object.values(row)))
    expect(types).toEqual(['VARCHAR', 'TIMESTAMP WITH TIME ZONE', 'BOOLEAN'])
  })
})

const EXTENSION = ['duckdb_extensions', 'duckdb_extension_sqlite_scanner']
withPython('DuckDB with its SQLite extension', EXTENSION, (python) => {
  test('DuckDB attaches the copy, and reads every table', async () => {
    const { values, copy } = await aReaderMachine({ python })
    const [days, versions, types, counts] = await values(
      aBlock('DuckDB', 2),
      'days.fetchall()',
      'versions.order("ALL").fetchall()',
      '[str(type) for type in days.types]',
      `[duckdb.sql(f"SELECT count(*) FROM copy.{table}").fetchone()[0] for table in ${JSON.stringify(OPENED)}]`,
    )
    const daily = 'SELECT organization, day, active, added, removed FROM customers_daily ORDER BY 1, 2'
    const history = `SELECT organization, id, valid_from, valid_to, name FROM customers_history
      ORDER BY organization, id, valid_from`

    expect(days).toEqual(rowsOf(copy, daily).map((row) => Object.values(row)))
    expect(types).toEqual(['VARCHAR', 'VARCHAR', 'BIGINT', 'BIGINT', 'BIGINT'])
    expect(rowsWithMoments(versions)).toEqual(rowsWithMoments(rowsOf(copy, history).map((row) => Object.values(row))))
    expect(counts).toEqual(OPENED.map((table) => rowsOf(copy, `SELECT 1 FROM ${table}`).length))
  })
})

withPython('DuckDB with its SQLite extension', EXTENSION, (python) => {
  test('the queries of the README find in the copy what they find by SQLite', async () => {
    const { values, copy } = await aReaderMachine({ python })
    const queries = PAGES.filter(({ name }) => name === 'README.md')
      .flatMap((page) => blocksIn(page, 'sql'))
      .map(({ text }) => text.trim())
    const rowsIn = (sql: string) => `duckdb.sql(${JSON.stringify(sql)}).fetchall()`
    const found = await values(aBlock('DuckDB', 2), 'duckdb.sql("USE copy")', ...queries.map(rowsIn))

    expect(queries).toHaveLength(5)
    for (const [at, sql] of queries.entries()) {
      const rows = rowsOf(copy, sql).map((row) => Object.values(row))
      expect([sql, inOneOrder(found[at + 1])]).toEqual([sql, inOneOrder(rows)])
    }
  })
})

withPython('Datasette', ['datasette.cli'], () => {
  test('Datasette serves the copy with its descriptions, facets and queries', async () => {
    const { start, copy } = await aReaderMachine()
    const serve = aBlock('Datasette', 0)
    const server = start({ ...serve, text: `exec ${serve.text.replace('--port 8001', '--port 0')}` })
    const [origin = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(await server.lineOnStderr(/running on http/)) ?? []
    const read = async (path: string) => (await fetch(`${origin}${path}`)).text()
    const asked = [...aBlock('Datasette', 1).text.matchAll(/'http:\/\/127\.0\.0\.1:8001(\/[^']*)'/g)]
    const [facets = '', days = ''] = await Promise.all(asked.map(([, path = '']) => read(path)))
    const organizations =
      'SELECT organization AS value, count(*) AS count FROM active_customers GROUP BY 1 ORDER BY 2 DESC'

    expect(JSON.parse(facets)).toMatchObject({
      filtered_table_rows_count: valueOf(copy, 'SELECT count(*) FROM active_customers'),
      facet_results: { organization: { results: rowsOf(copy, organizations) }, language: {} },
    })
    expect(JSON.parse(days)).toEqual(rowsOf(copy, 'SELECT organization, day, active FROM customers_daily'))
    expect(await read('/customers/customers')).toContain('When the row last changed in any column, UTC')
    server.send('SIGTERM')
    await server.ended
  })
})

/** Rows that a query leaves in any order. In a view of SQLite that DuckDB reads, numbers are texts. */
function inOneOrder(rows: unknown): string[] {
  return rowsWithMoments(rows)
    .map((row) => JSON.stringify(row.map((value) => (typeof value === 'number' ? value.toString() : value))))
    .toSorted()
}
