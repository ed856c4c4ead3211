import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RecordedWindow, Run } from '../../src/model/run.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import type { SortedPage } from '../../src/model/page.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { type Row } from '../../src/scan/window.ts'
import { sortRecords } from '../../src/sync/sorting/sort-records.ts'
import { seeds } from '../support/seeds.ts'

const RESUME_WITHIN_MS = 6 * 60 * MINUTE_MS

test('a window is recalled exactly as recorded: places, rows, and the meta data of its answer', async () => {
  const mirror = await aMirror()
  const told = { page: 3, size: 40, perPage: 20, total: 58, lastPage: 3, beyondEnd: false }

  const { recalled, saved } = await recordAndRecall(mirror, [[customers(41, 58), told]])

  expect(recalled).toEqual([{ ...told, rows: saved[0] }])
  expect(recalled[0]?.rows[0]).toEqual({ id: customerId(41), createdAt: '2024-01-02T03:04:05.000000Z', rowId: 1 })
})

test('any window of any records comes back the same', async () => {
  const aRecord = fc.oneof(
    fc.integer({ min: 1, max: 30 }).map((n) => aCustomer(n)),
    fc
      .integer({ min: 1, max: 30 })
      .map((n) => aCustomer(n, { id: customerId(n).toUpperCase(), created_at: `day ${n}` })),
    fc.integer({ min: 31, max: 60 }).map((n) => aCustomer(n, { created_at: null })),
    fc.integer({ min: 61, max: 90 }).map((n) => aCustomer(n, { email: [] })),
    fc.constantFrom(null, 7, { name: 'Nobody' }),
  )
  const told = fc.record({
    page: fc.integer({ min: 1, max: 100_000 }),
    size: fc.integer({ min: 1, max: 100 }),
    perPage: fc.integer({ min: 1, max: 100 }),
    total: fc.option(fc.nat(), { nil: undefined }),
    lastPage: fc.option(fc.nat(), { nil: undefined }),
    beyondEnd: fc.boolean(),
  })
  const key = (record: unknown) => sortRecords([record], { pageBytes: 0 }).rows[0]?.id ?? record
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(aRecord, { selector: key, maxLength: 30 }), told, async (records, window) => {
      const { recalled, saved } = await recordAndRecall(await aMirror(), [[records, window]])

      expect(recalled).toEqual([{ ...window, rows: saved[0] }])
    }),
    { numRuns: seeds(40) },
  )
})

test('every customer in a recalled window counts as seen, rejects included', async () => {
  const mirror = await aMirror()
  const bad = { name: ['Two', 'Names'] }

  const { run } = await recordAndRecall(mirror, [[[aCustomer(1), aCustomer(2, bad), aCustomer(3), { ...bad }], {}]])

  expect(run.seen.size).toBe(2)
  expect([...run.rejectedIds]).toEqual([customerId(2)])
  const saved = await mirror.savePages(run, [aPage(1, [aCustomer(1), aCustomer(2, bad), aCustomer(4)])], START_MS)
  expect(saved.records).toMatchObject({ received: 3, duplicates: 2, inserted: 1, rejected: 0 })
})

test('a customer received again with another value after an interruption is updated, and counted once', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 10)], { ending: { proof: 'proven', reasons: [] } })
  const { run } = await recordAndRecall(mirror, [[customers(1, 6), {}]])
  expect(run.readBefore).toBe(6)

  const renamed = aCustomer(5, { name: 'Renamed' })
  await mirror.savePages(run, [recorded([renamed, aCustomer(6), ...customers(7, 10)], { page: 2 })], START_MS)
  await mirror.savePages(run, [recorded([aCustomer(5), aCustomer(10)], { page: 3 })], START_MS)
  const report = await mirror.finishRun(run, anEnding({ proof: 'proven', reasons: [] }), START_MS)

  expect(report).toMatchObject({ readBefore: 5, received: 8, updated: 1, unchanged: 4, duplicates: 3, missing: 0 })
  expect(rowsOf(mirror.file, 'SELECT read_before, updated FROM runs WHERE id = ?', run.id)).toEqual([
    { read_before: 5, updated: 1 },
  ])
  expect(rowsOf(mirror.file, 'SELECT name FROM customers WHERE id = ?', customerId(5))).toEqual([{ name: 'Renamed' }])
  expect(rowsOf(mirror.file, 'SELECT run_id, id, "change" FROM changes')).toEqual([
    { run_id: run.id, id: customerId(5), change: 'changed' },
  ])
})

type Told = Partial<Omit<RecordedWindow, 'rows'>>

/** Saves windows in a run that is interrupted, and recalls them in the one that goes on from it. */
async function recordAndRecall(mirror: Mirror, windows: readonly (readonly [readonly unknown[], Told])[]) {
  const first = await start(mirror)
  const saved: Row[][] = []
  for (const [records, told] of windows) {
    const page = recorded(records, told)
    const { pages } = await mirror.savePages(first, [page], START_MS)
    const rowIds = pages[0]?.rowIds ?? []
    saved.push(page.rows.map((row, at) => ({ id: row?.id, createdAt: row?.createdAt, rowId: rowIds[at] || undefined })))
  }
  const error = { code: 'interrupted', message: 'acme: stopped as asked' }
  await mirror.finishRun(first, anEnding({ status: 'interrupted', reasons: ['interrupted'], error }), START_MS)
  const run = await start(mirror)
  return { run, saved, recalled: [...(await mirror.recallWindows(run))] }
}

function start(mirror: Mirror, organization = 'acme'): Promise<Run> {
  return mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS, resumeWithinMs: RESUME_WITHIN_MS })
}

function recorded(records: readonly unknown[], told: Told = {}): SortedPage {
  const usual = { page: 1, size: 10, perPage: 10, total: 100, lastPage: 10, beyondEnd: false }
  return { ...aPage(told.page ?? 1, records), window: { ...usual, ...told } }
}
