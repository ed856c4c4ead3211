import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { aCustomer, aPage, customers, type SentRecord, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'

/** Windows of an initial sync: the second begins with the last customer of the first, and the third with the two last of it. */
const FIRST = { page: 1, size: 10 }
const SECOND = { page: 2, size: 9 }
const THIRD = { page: 3, size: 8 }

test('windows that overlap and are saved in one transaction give the same rows, counts and conflicts as one by one', async () => {
  const windows: Received[] = [
    [FIRST, customers(1, 10)],
    [SECOND, [aCustomer(10, { name: 'Renamed' }), ...customers(11, 18)]],
    [THIRD, [aCustomer(17), aCustomer(18, { phone: null }), ...customers(19, 24), aCustomer(24)]],
  ]
  const apart = await load(...windows)
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  const { pages } = await mirror.savePages(
    run,
    windows.map(([{ page }, records]) => aPage(page, records)),
    START_MS,
  )

  const saved = apart.saved.flatMap((one) => one.pages)
  expect(pages.map(({ rowIds }) => Array.from(rowIds))).toEqual(saved.map(({ rowIds }) => Array.from(rowIds)))
  expect(pages.map(({ unchanged }) => unchanged)).toEqual(saved.map(({ unchanged }) => unchanged))
  expect(run.records).toEqual(apart.records)
  expect(run.records).toMatchObject({ inserted: 24, duplicates: 4 })
  expect(run.warnings).toEqual({ conflicting_duplicate: 2 })
  for (const sql of ['SELECT row_id, id, name, phone FROM customers', 'SELECT * FROM edited_customers']) {
    expect(rowsOf(mirror.file, sql)).toEqual(rowsOf(apart.mirror.file, sql))
  }
})

type Received = [window: { page: number; size: number }, records: readonly SentRecord[]]

/** What became of the pages of an initial sync, each saved by itself. */
async function load(...pages: Received[]) {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const saved: Awaited<ReturnType<Mirror['savePages']>>[] = []
  for (const [window, records] of pages) {
    saved.push(await mirror.savePages(run, [aPage(window.page, records)], START_MS))
  }
  expect(rowsOf(mirror.file, 'SELECT id FROM customers')).toHaveLength(run.records.inserted)
  return { mirror, saved, warnings: run.warnings, records: run.records }
}
