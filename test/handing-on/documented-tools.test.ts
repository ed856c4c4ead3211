import { renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksIn, commandsIn, isMarkedUnrun } from '../support/documents.ts'
import { publishedCopy } from '../support/full-mirror.ts'
import { type Row, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aBlock, aReaderMachine, blocksOf, PAGE, withProgram, withPython } from '../support/reader-machine.ts'

/** The sections whose blocks are run, here and in the other files of this folder. */
const RUN = ['sqlite3', 'Python', 'pandas', 'DuckDB', 'Object storage', 'Datasette', 'SQLAlchemy', 'dlt', 'dbt']

const LANGUAGES = `SELECT organization, language, count(*) AS customers FROM active_customers GROUP BY 1, 2 ORDER BY 1, 2`
const TIMES = ['created_at_utc', 'first_seen_at', 'changed_at', 'missing_since', 'removed_at', 'updated_at']

test('every block of the page is in a section that is run, or is marked as done by hand', () => {
  const others = PAGE.flatMap((page) => blocksIn(page)).filter(({ heading }) => !RUN.includes(heading))
  const commands = others.flatMap(commandsIn)

  expect(others.map(({ heading }) => heading)).toEqual(['Apache Superset', 'Apache Superset'])
  expect(commands.filter((command) => !isMarkedUnrun(command))).toEqual([])
  expect(RUN.map((section) => blocksOf(section).length)).toEqual([1, 1, 1, 3, 1, 2, 1, 1, 1])
})

withProgram('sqlite3', () => {
  test('sqlite3 writes a query of the copy as CSV', async () => {
    const { run, copy } = await aReaderMachine()
    const csv = await run(aBlock('sqlite3'), 'cat languages.csv')
    const rows = rowsOf(copy, LANGUAGES).map((row) => Object.values(row).join())

    expect(csv.trim().split(/\r?\n/)).toEqual(['organization,language,customers', ...rows])
  })
})

withProgram('python3', () => {
  test('Python reads times and booleans as such', async () => {
    const { run, copy } = await aReaderMachine()
    const printed = await run(aBlock('Python'))
    const rows = rowsOf(copy, 'SELECT id, updated_at, is_active FROM customers ORDER BY updated_at DESC, id LIMIT 5')

    expect(printed.trim().split('\n')).toEqual(
      rows.map((row) =>
        [row['id'], `${iso(row['updated_at'])}+00:00`, row['is_active'] === 1 ? 'True' : 'False'].map(String).join(' '),
      ),
    )
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

withPython('SQLAlchemy', ['sqlalchemy'], (python) => {
  test('SQLAlchemy finds tables and types, and reads the copy that is there now', async () => {
    const { values, run, copy } = await aReaderMachine({ python })
    const later = join(dirname(copy), 'later.db')
    renameSync(await publishedCopy({ nights: 1 }), later)
    const newest = valueOf(copy, 'SELECT max(updated_at) FROM active_customers')
    const counts = [copy, later].map((file) => valueOf(file, 'SELECT count(*) FROM active_customers'))
    const rows = rowsOf(copy, LANGUAGES)
    const printed = await run(aBlock('SQLAlchemy'))
    const scalar = (query: string) => `engine.connect().execute(select(${query})).scalar()`
    const count = scalar('func.count(customers.c.id)')

    expect(sorted(printed.trim().split('\n'))).toEqual(
      sorted(
        rows.map((row) => [row['organization'], row['language'] ?? 'None', row['customers']].map(String).join(' ')),
      ),
    )
    expect(
      await values(
        aBlock('SQLAlchemy'),
        '{column.name: str(column.type) for column in customers.columns}',
        `${scalar('func.max(customers.c.updated_at)')}.isoformat(timespec="milliseconds")`,
        count,
        `__import__("os").replace("${later}", "${copy}")`,
        count,
      ),
    ).toMatchObject([
      { id: 'TEXT', updated_at: 'DATETIME', last_run_id: 'INTEGER', is_active: 'BOOLEAN' },
      iso(newest),
      counts[0],
      null,
      counts[1],
    ])
    expect(counts[0]).not.toBe(counts[1])
  })
})

function asPandasShows(row: Row): Row {
  const times = TIMES.map((name) => [name, row[name] === null ? null : `${iso(row[name])}Z`])
  return { ...row, ...Object.fromEntries(times), is_active: row['is_active'] === 1 }
}

/** A time of the mirror in the form of ISO 8601, with milliseconds. */
function iso(time: unknown): string {
  return new Date(`${String(time).replace(' ', 'T')}Z`).toISOString().slice(0, -1)
}

/** NULL stands elsewhere in each program. */
function sorted(rows: unknown): unknown[] {
  return Array.isArray(rows) ? rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : []
}
