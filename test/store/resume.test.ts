import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import type { SortedPage } from '../../src/model/page.ts'
import type { Ending, RecordedWindow, Run } from '../../src/model/run.ts'
import { aCustomer, anEnding, aPage, customerId, customers, START_MS, HOUR_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aMirrorOf } from './nights.ts'

const RESUME_WITHIN_MS = 6 * HOUR_MS

/** Whether a code is one of these says its row: test/errors.test.ts. */
test.each(['interrupted', 'network', 'not-found'])('after %s the next run goes on with its windows', async (code) => {
  const mirror = await aMirror()
  const first = await endedWith(mirror, code)

  const second = await start(mirror, START_MS + HOUR_MS)

  expect(second).toMatchObject({ resumedFrom: first.id, readAsOfMs: START_MS, startedAtMs: START_MS + HOUR_MS })
  expect(second.id).not.toBe(first.id)
  expect([...(await mirror.recallWindows(second))]).toMatchObject([{ page: 1 }, { page: 2 }])
  expect(rowsOf(mirror.file, 'SELECT DISTINCT run_id FROM windows')).toEqual([{ run_id: second.id }])
  await mirror.finishRun(second, anEnding(), START_MS + HOUR_MS)
  expect(await mirror.findRun(second.id)).toMatchObject({ resumedFrom: first.id, readAsOfMs: START_MS })
})

test.each(['bad-answer', 'unexpected'])('after %s the next run begins anew, without its windows', async (code) => {
  const mirror = await aMirror()
  await endedWith(mirror, code)

  const second = await start(mirror, START_MS + HOUR_MS)

  expect(second).toMatchObject({ resumedFrom: undefined, readAsOfMs: START_MS + HOUR_MS })
  expect([...(await mirror.recallWindows(second))]).toEqual([])
  expect(second.seen.size).toBe(0)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM windows')).toBe(0)
})

test.each([
  ['page-mismatch', [], false],
  ['page-mismatch', [3], true],
  ['network', [], true],
])(
  'after %s where the run before stopped, with the pages %j, the next one goes on: %s',
  async (code, pages, goesOn) => {
    const mirror = await aMirror()
    await endedWith(mirror, 'page-mismatch')
    const second = await start(mirror, START_MS + HOUR_MS)
    await mirror.savePages(second, pages.map(recorded), START_MS + HOUR_MS)
    await mirror.finishRun(second, ended(code), START_MS + HOUR_MS)

    expect((await start(mirror, START_MS + HOUR_MS)).resumedFrom === second.id).toBe(goesOn)
  },
)

test('a run whose process was killed is continued, and recorded as interrupted', async () => {
  const mirror = await aMirror()
  const killed = await start(mirror, START_MS)
  await mirror.savePages(killed, [recorded(1)], START_MS)
  const successor = await aMirror(mirror.file)

  const second = await start(successor, START_MS + HOUR_MS)

  expect(second).toMatchObject({ resumedFrom: killed.id, readAsOfMs: START_MS })
  expect(second.seen.size).toBe(10)
  const interrupted = { status: 'interrupted', error: { code: 'interrupted' }, ...(!onPostgres && { durationMs: 0 }) }
  expect(await mirror.findRun(killed.id)).toMatchObject(interrupted)
})

test.each([
  ['just within resumeWithin', RESUME_WITHIN_MS, true],
  ['a millisecond before resumeWithin', RESUME_WITHIN_MS + 1, false],
  ['an hour ahead of the clock, which was set back a little,', -HOUR_MS, true],
  ['three hours ahead of the clock, which was wrong,', -3 * HOUR_MS, false],
])('whether a scan that began %s is continued', async (_, ageMs, isResumed) => {
  const mirror = await aMirror()
  await endedWith(mirror, 'interrupted')

  const second = await start(mirror, START_MS + ageMs)

  expect(second.resumedFrom !== undefined).toBe(isResumed)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM windows')).toBe(isResumed ? 2 : 0)
})

async function endedWith(mirror: Mirror, code: string): Promise<Run> {
  const run = await start(mirror, START_MS)
  await mirror.savePages(run, [1, 2].map(recorded), START_MS)
  await mirror.finishRun(run, ended(code), START_MS)
  return run
}

function start(mirror: Mirror, nowMs: number): Promise<Run> {
  return mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs, resumeWithinMs: RESUME_WITHIN_MS })
}

/** Page `page` of ten customers, as a chain of windows records it. */
function recorded(page: number): SortedPage {
  return aWindowOf(customers(10 * page - 9, 10 * page), { page, total: 30 })
}

function ended(code: string): Ending {
  const status = code === 'interrupted' ? 'interrupted' : 'failed'
  return anEnding({ status, reasons: [status], readToEnd: false, error: { code, message: 'made up' } })
}

test('a window is recalled exactly as recorded: places, rows, and the meta data of its answer; its customers count as seen, rejects included', async () => {
  const mirror = await aMirror()
  const told = { page: 3, size: 40, perPage: 20, total: 58, beyondEnd: false }

  const odd = [
    ...customers(42, 58),
    aCustomer(59, { id: customerId(59).toUpperCase(), created_at: 'day 59' }),
    ...[aCustomer(60, { created_at: null }), aCustomer(61, { email: [] }), null, { name: 'Nobody' }],
  ]
  const { run, recalled, rows } = await recordAndRecall(mirror, [aCustomer(41), ...odd], told)

  expect(recalled).toEqual([{ ...told, rows }])
  expect(recalled[0]?.rows[0]).toEqual({ id: customerId(41), createdAt: '2024-01-02T03:04:05.000000Z', rowId: 1 })
  expect(run.seen.size).toBe(20)
  expect([...run.rejectedIds]).toEqual([customerId(61)])
  const again = [aCustomer(41), aCustomer(61, { email: [] }), aCustomer(4)]
  const { records } = await mirror.savePages(run, [aPage(1, again)], START_MS)
  expect(records).toMatchObject({ received: 3, duplicates: 2, inserted: 1, rejected: 0 })
})

test('a customer received again with another value after an interruption is updated, and counted once', async () => {
  const mirror = await aMirrorOf(customers(1, 10))
  const { run } = await recordAndRecall(mirror, customers(1, 6))
  expect(run.readBefore).toBe(6)

  const renamed = aCustomer(5, { name: 'Renamed' })
  await mirror.savePages(run, [aWindowOf([renamed, aCustomer(6), ...customers(7, 10)], { page: 2 })], START_MS)
  await mirror.savePages(run, [aWindowOf([aCustomer(5), aCustomer(10)], { page: 3 })], START_MS)
  const report = await mirror.finishRun(run, anEnding({ proof: 'proven', reasons: [] }), START_MS)

  expect(report).toMatchObject({ readBefore: 5, received: 8, updated: 1, unchanged: 4, duplicates: 3, missing: 0 })
  const counted = rowsOf(mirror.file, 'SELECT read_before, updated FROM runs WHERE id = ?', run.id)
  expect(counted).toEqual([{ read_before: 5, updated: 1 }])
  expect(valueOf(mirror.file, 'SELECT name FROM customers WHERE id = ?', customerId(5))).toBe('Renamed')
  const changes = rowsOf(mirror.file, 'SELECT run_id, id, "change" FROM changes')
  expect(changes).toEqual([{ run_id: run.id, id: customerId(5), change: 'changed' }])
})

type Told = Partial<Omit<RecordedWindow, 'rows'>>

/** Saves a window in a run that is interrupted, and recalls it in the one that goes on from it. */
async function recordAndRecall(mirror: Mirror, records: readonly unknown[], told: Told = {}) {
  const first = await start(mirror, START_MS)
  const page = aWindowOf(records, told)
  const { pages } = await mirror.savePages(first, [page], START_MS)
  const rowIds = pages[0] ?? []
  const rows = page.rows.map((row, at) => ({ id: row?.id, createdAt: row?.createdAt, rowId: rowIds[at] || undefined }))
  await mirror.finishRun(first, ended('interrupted'), START_MS)
  const run = await start(mirror, START_MS)
  return { run, rows, recalled: [...(await mirror.recallWindows(run))] }
}

function aWindowOf(records: readonly unknown[], told: Told = {}): SortedPage {
  const usual = { page: 1, size: 10, perPage: 10, total: 100, beyondEnd: false }
  return { ...aPage(told.page ?? 1, records), window: { ...usual, ...told } }
}
