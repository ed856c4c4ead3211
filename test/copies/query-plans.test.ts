import { expect, onTestFinished, test, vi } from 'vitest'
import { jsonLinesFormat } from '../../src/copies/format.ts'
import { beginExport } from '../../src/copies/export-mirror.ts'
import { openToRead } from '../../src/store/sqlite/open-to-read.ts'
import { blocksIn, PAGES } from '../support/documents.ts'
import { aPage, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'
import { aMirrorOfNights } from '../support/publishing.ts'

const ONE = `WHERE organization = 'acme' AND id = '${customerId(1)}'`

const SCAN = /SCAN (customers|changes)\b(?! USING (COVERING )?INDEX)/

test('the views scan no table of customers, and pass over the quick runs between two nights', async () => {
  const file = await aMirrorOfNights()
  const latest = `SELECT id FROM runs WHERE organization = 'acme' AND trusted_pages IS NULL ORDER BY id DESC LIMIT 30`

  for (const sql of [`customers_history ${ONE}`, 'freshness', 'customers_daily'])
    expect(planOf(file, `SELECT * FROM ${sql}`), sql).not.toMatch(SCAN)
  for (const view of ['customers_history', 'freshness'])
    expect(planOf(file, `SELECT * FROM ${view}`), view).toMatch(/(SEARCH runs USING INDEX complete_runs.*){2}/s)
  expect(planOf(file, 'SELECT * FROM freshness')).not.toMatch(/SCAN runs/)
  expect(planOf(file, latest)).toMatch(/^SEARCH runs USING (COVERING )?INDEX full_runs \(organization=\?\)$/)
  expect(planOf(file, 'SELECT DISTINCT organization FROM runs WHERE trusted_pages IS NULL')).toMatch(/INDEX full_runs$/)
})

test('every documented query that names customers or changes is answered from an index', async () => {
  const file = await aMirrorOfNights()
  const pages = PAGES.filter(({ name }) => ['README.md', 'docs/read/sql.md'].includes(name))
  const queries = pages.flatMap((page) => blocksIn(page, 'sql')).map(({ text }) => text.trim())

  expect(queries.length).toBeGreaterThanOrEqual(6)
  for (const sql of queries) expect(planOf(file, sql), sql).not.toMatch(SCAN)
})

test('an export of changes reads the customers that were written since, and no others', async () => {
  const file = await aMirrorOfNights()
  const db = openToRead(file)
  onTestFinished(() => void db.close())
  const prepare = vi.spyOn(db, 'prepare')
  beginExport(db, { selection: { organizations: [], changesSince: 1 }, configured: [], format: jsonLinesFormat })
  const feed = prepare.mock.calls.map(([sql]) => sql).find((sql) => sql.includes("'current'")) ?? ''

  expect(feed).not.toBe('')
  const plan = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${feed}`).all(...Array(7).fill(''))
  const details = plan.map(({ detail }) => detail).join('\n')
  expect(details).toMatch(/SEARCH now USING INDEX customers_by_update \(updated_at>\?\)/)
  expect(details).not.toMatch(/SCAN now/)
})

const INDEXES = `SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'customers_by_%' ORDER BY name`
const indexesOf = (file: string) => rowsOf(file, INDEXES).map(({ name }) => name)
const ALL = ['customers_by_email', 'customers_by_id', 'customers_by_language', 'customers_by_update']

test('the indexes of readers are made when a first run is complete, not before, and again by the next process after one was dropped by hand', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS)
  expect(indexesOf(mirror.file)).toEqual([])
  const failed = { status: 'failed', readToEnd: false } as const
  await mirrorPages(mirror, [customers(1, 5)], { organization: 'globex', ending: failed })
  expect(indexesOf(mirror.file)).toEqual(['customers_by_id'])

  await mirrorPages(mirror, [customers(1, 5)], { organization: 'globex' })
  expect(indexesOf(mirror.file)).toEqual(ALL)
  tamper(mirror.file, 'DROP INDEX customers_by_email')
  await mirrorPages(await aMirror(mirror.file), [customers(1, 5)], { organization: 'globex' })
  expect(indexesOf(mirror.file)).toEqual(ALL)
})

function planOf(file: string, sql: string): string {
  return rowsOf(file, `EXPLAIN QUERY PLAN ${sql}`)
    .map(({ detail }) => detail)
    .join('\n')
}
