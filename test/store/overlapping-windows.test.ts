import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import type { SavedPage } from '../../src/model/page.ts'
import { aCustomer, aPage, customers, type SentRecord, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'

/** Windows of an initial sync: the second begins with the last customer of the first, and the third with the two last of it. */
const FIRST = { page: 1, size: 10 }
const SECOND = { page: 2, size: 9 }
const THIRD = { page: 3, size: 8 }

test('customers in an overlapping window are duplicates, and their rows are returned', async () => {
  const { saved, warnings } = await load(
    [FIRST, customers(1, 10)],
    [SECOND, customers(10, 18)],
    [THIRD, customers(17, 24)],
  )

  expect(saved.map(({ records }) => [records.inserted, records.duplicates])).toEqual([
    [10, 0],
    [8, 1],
    [6, 2],
  ])
  expect(saved.map(({ pages }) => rowIdsOf(pages))).toEqual([numbers(1, 10), numbers(10, 18), numbers(17, 24)])
  expect(warnings).toEqual({})
})

test('it makes no difference whether the windows are saved together, or in their order', async () => {
  const { saved } = await load([SECOND, customers(10, 18)], [FIRST, customers(1, 10)])

  expect(saved[1]?.records).toMatchObject({ inserted: 9, duplicates: 1 })
  expect(rowIdsOf(saved[1]?.pages).at(-1)).toBe(1)
})

test('a customer received again with a change is counted as a conflict each time, and the first record is stored', async () => {
  const [before, after] = [aCustomer(10), aCustomer(10, { name: 'Renamed' })]
  const same = { page: 2, size: 9 }

  const { mirror, warnings } = await load(
    [FIRST, [...customers(1, 9), before]],
    [SECOND, [after, ...customers(11, 18)]],
    [same, [after, ...customers(11, 18)]],
  )

  expect(warnings).toEqual({ conflicting_duplicate: 2 })
  expect(valueOf(mirror.file, `SELECT name FROM customers WHERE row_id = 10`)).toBe('Customer 10')
})

test('a customer received again at another place, or beside a reject, is still a duplicate', async () => {
  const { saved } = await load(
    [FIRST, customers(1, 10)],
    [SECOND, [aCustomer(3), ...customers(11, 18)]],
    [THIRD, [{ name: 'Nobody' }, ...customers(18, 24)]],
  )

  expect(saved.map(({ records }) => records.duplicates)).toEqual([0, 1, 1])
  expect(rowIdsOf(saved[2]?.pages).slice(0, 2)).toEqual([0, 18])
})

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

function rowIdsOf(pages: readonly SavedPage[] = []): number[] {
  return pages.flatMap(({ rowIds }) => Array.from(rowIds))
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
