import { expect, test } from 'vitest'
import type { Run } from '../../src/model/run.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { EMPTY_LIST } from '../../src/model/list-as-read.ts'
import { aCustomer, anEnding, aPage, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { DAY_MS, fateOf, night, quickRun, rowIdsOf, scanEnding } from './nights.ts'

const HOUR_MS = 60 * MINUTE_MS
const FAILED = { status: 'failed', trustedPages: undefined, error: { code: 'network', message: 'gone' } } as const
const LISTED = customers(1, 50)
const NOON_MS = START_MS + DAY_MS / 2

test('a quick run saves customers and marks absent ones as missing, and is no night', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, LISTED)
  const before = await mirror.listFreshness()

  const report = await quickRun(mirror, 0, [aCustomer(9, { name: 'Renamed' }), aCustomer(51)], { gone: [3, 4] })

  expect(report).toMatchObject({ status: 'partial', proof: 'unproven', reasons: ['quick'], trustedPages: 12 })
  expect(report).toMatchObject({ inserted: 1, updated: 1, missing: 2, removed: 0, held: 0 })
  expect([fateOf(mirror, 3), fateOf(mirror, 4), fateOf(mirror, 5)]).toEqual(['missing', 'missing', 'listed'])
  const after = { ...before[0], active: 51, missing: 2, lastRunId: 2, lastStatus: 'partial' }
  expect(await mirror.listFreshness()).toEqual([{ ...after, lastPartial: expect.objectContaining({ runId: 2 }) }])
  expect(await mirror.listRuns({ limit: 1 })).toMatchObject([{ status: 'partial', trustedPages: 12 }])
  expect(rowsOf(mirror.file, 'SELECT id, trusted_pages FROM runs ORDER BY id')).toEqual([
    { id: 1, trusted_pages: null },
    { id: 2, trusted_pages: 12 },
  ])
})

test('a quick run is not the last run that decides what is due, and none of its failures is why a scan is not proven', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, LISTED, { ending: { status: 'failed', error: { code: 'unauthorized', message: 'no' } } })
  const [lastRun] = await mirror.listLastRuns()

  await quickRun(mirror, 0, [])
  await quickRun(mirror, 0, [], { ending: FAILED })

  expect(await mirror.listLastRuns()).toEqual([{ ...lastRun, partialErrorCode: 'network' }])
  expect(await mirror.listFreshness()).toMatchObject([
    { lastRunId: 3, lastStatus: 'failed', lastFullStatus: 'failed', why: ['unauthorized'] },
  ])
  expect(rowsOf(mirror.file, 'SELECT trusted_pages FROM runs')).toMatchObject([
    { trusted_pages: null },
    { trusted_pages: 12 },
    { trusted_pages: 0 },
  ])
})

test.each([
  ['changed', aCustomer(51, { name: 'Renamed' })],
  ['received in a reject', aCustomer(51, { name: {} })],
])('a customer that a quick run has %s while a scan was interrupted twice is not absent', async (_how, record) => {
  const mirror = await aMirror()
  await night(mirror, -1, [...LISTED, aCustomer(52), aCustomer(51)], { organization: 'abacus' })
  await night(mirror, -1, [...LISTED, aCustomer(52, { name: {} })])
  await night(mirror, 0, [...LISTED, aCustomer(51), aCustomer(52)])
  const nowMs = START_MS + DAY_MS
  const start = { organization: 'acme', trigger: 'sync', resumeWithinMs: 6 * HOUR_MS } as const
  const interrupted = async (page: number, atMs: number) => {
    const run = await mirror.startRun({ ...start, nowMs: atMs })
    await mirror.savePages(run, [recorded(page)], atMs)
    await mirror.finishRun(run, anEnding({ ...FAILED, readToEnd: false }), atMs)
  }
  await interrupted(1, nowMs)
  await quickRun(mirror, 1, [record], { hour: 1 })
  await interrupted(2, nowMs + 2 * HOUR_MS)
  const last = await mirror.startRun({ ...start, nowMs: nowMs + 3 * HOUR_MS })
  await mirror.savePages(last, [aPage(1, customers(2, 50))], nowMs + 3 * HOUR_MS)
  const report = await mirror.finishRun(last, scanEnding({}), nowMs + 3 * HOUR_MS)

  expect(report.missing).toBe(1)
  expect([1, 51, 52].map((n) => fateOf(mirror, n))).toEqual(['listed', 'listed', 'missing'])
})

test('a quick run leaves the list as last read as it is, and the next run doubts what it wrote', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, LISTED, { ending: { list: EMPTY_LIST } })
  const lists = () => rowsOf(mirror.file, 'SELECT * FROM lists')
  const before = lists()
  expect(before).toMatchObject([{ run_id: 1 }])

  await quickRun(mirror, 0, [aCustomer(9, { name: 'Renamed' }), aCustomer(10), aCustomer(51)], { gone: [3] })

  expect(lists()).toEqual(before)
  const next = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + DAY_MS })
  const isDoubted = (n: number) => rowIdsOf(mirror, [n]).map((rowId) => next.doubted.has(rowId))
  expect([3, 9, 10, 51].flatMap(isDoubted)).toEqual([true, true, false, true])
})

test('an absence in a quick run counts for nothing: a customer is removed after as many nights as without it', async () => {
  const mirror = await aMirror()
  const without3 = LISTED.filter(({ id }) => id !== customerId(3))
  await night(mirror, 0, LISTED)
  await quickRun(mirror, 0, [aCustomer(9)], { gone: [3] })
  await quickRun(mirror, 0, [aCustomer(9)], { gone: [3] })

  expect(await night(mirror, 1, without3)).toMatchObject({ missing: 1, removed: 0 })
  await quickRun(mirror, 1, [aCustomer(9)], { gone: [3] })
  expect(rowsOf(mirror.file, 'SELECT proven, scans FROM absences')).toEqual([{ proven: 1, scans: 1 }])
  expect(await night(mirror, 2, without3)).toMatchObject({ missing: 0, removed: 1 })
})

test('too many customers absent at once are not marked by a quick run', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 100))
  const gone = Array.from({ length: 21 }, (_, index) => index + 1)

  expect(await quickRun(mirror, 0, [aCustomer(99)], { gone })).toMatchObject({ missing: 0, held: 21 })
  expect(await mirror.listHeldRemovals()).toEqual([])
  expect(fateOf(mirror, 1)).toBe('listed')
})

test('the newest customers are not marked by a quick run: the list may be older than the last one read', async () => {
  const mirror = await aMirror()
  const dated = (n: number) => aCustomer(n, { created_at: `2025-01-${String(n).padStart(2, '0')}T10:00:00Z` })
  await night(mirror, 0, [1, 2, 3, 4, 5, 6].map(dated), { ending: { list: EMPTY_LIST } })

  const ending = { later: { rowIds: Uint32Array.of(), pending: [] } }
  const report = await quickRun(mirror, 0, [dated(3)], { gone: [2, 6], ending })

  expect(report).toMatchObject({ missing: 1, reasons: ['quick', 'older-list'] })
  expect([fateOf(mirror, 2), fateOf(mirror, 6)]).toEqual(['missing', 'listed'])
  expect(await pendingOf(mirror), 'the next quick run looks for them again').toEqual(rowIdsOf(mirror, [6]))
})

/** The rows that the next quick run looks for again. */
async function pendingOf(mirror: Mirror) {
  const { list } = await startQuickRun(mirror, NOON_MS + DAY_MS)
  return list.later?.pending
}

function startQuickRun(mirror: Mirror, nowMs = NOON_MS): Promise<Run> {
  return mirror.startRun({ organization: 'acme', trigger: 'sync', isPartial: true, nowMs })
}

function recorded(page: number) {
  const window = { page, size: 10, perPage: 10, total: 50, lastPage: 5, beyondEnd: false }
  return { ...aPage(page, customers(10 * page - 9, 10 * page)), window }
}
