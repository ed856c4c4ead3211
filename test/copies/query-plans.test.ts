import { expect, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { blocksIn, PAGES } from '../support/documents.ts'
import { aCustomer, aPage, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'
import { night } from '../store/nights.ts'

const ONE = `WHERE organization = 'acme' AND id = '${customerId(1)}'`

test.each(['customers_history', 'freshness', 'customers_daily'])('%s scans no table of customers', async (view) => {
  const { file } = await aMirrorOfOneNight()
  const where = view === 'customers_history' ? ONE : ''

  expect(planOf(file, `SELECT * FROM ${view} ${where}`)).not.toMatch(
    /SCAN (customers|changes)\b(?! USING (COVERING )?INDEX)/,
  )
})

test('every documented query that names customers or changes is answered from an index', async () => {
  const { file } = await aMirrorOfOneNight()
  const pages = PAGES.filter(({ name }) => ['README.md', 'docs/read/sql.md'].includes(name))
  const queries = pages.flatMap((page) => blocksIn(page, 'sql')).map(({ text }) => text.trim())

  expect(queries.length).toBeGreaterThanOrEqual(6)
  for (const sql of queries)
    expect(planOf(file, sql), sql).not.toMatch(/SCAN (customers|changes)\b(?! USING (COVERING )?INDEX)/)
})

const indexesOf = (file: string) =>
  rowsOf(file, `SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'customers_by_%' ORDER BY name`).map(
    ({ name }) => name,
  )
const ALL = ['customers_by_email', 'customers_by_id', 'customers_by_language', 'customers_by_update']

test('the indexes of readers are made when a first run is complete, and not before', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 5))], START_MS)
  expect(indexesOf(mirror.file)).toEqual([])
  const failed = { status: 'failed', readToEnd: false } as const
  await mirrorPages(mirror, [customers(1, 5)], { organization: 'globex', ending: failed })
  expect(indexesOf(mirror.file)).toEqual(['customers_by_id'])

  await mirrorPages(mirror, [customers(1, 5)], { organization: 'globex' })
  expect(indexesOf(mirror.file)).toEqual(ALL)
})

test('an index that was dropped by hand is made again by the next process', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 5)])
  tamper(mirror.file, 'DROP INDEX customers_by_email')

  const again = await openMirror(mirror.file)
  await mirrorPages(again, [customers(1, 5)])
  await again.close()

  expect(indexesOf(mirror.file)).toEqual(ALL)
})

async function aMirrorOfOneNight() {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 1, [aCustomer(1, { name: 'Ada' }), ...customers(2, 30)])
  return mirror
}

function planOf(file: string, sql: string): string {
  return rowsOf(file, `EXPLAIN QUERY PLAN ${sql}`)
    .map(({ detail }) => detail)
    .join('\n')
}
