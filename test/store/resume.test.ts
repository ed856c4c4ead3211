import { expect, test } from 'vitest'
import type { Ending, Run } from '../../src/model/run.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import type { SortedPage } from '../../src/model/page.ts'
import { anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'

const HOUR_MS = 60 * MINUTE_MS
const RESUME_WITHIN_MS = 6 * HOUR_MS

test.each([
  ...['interrupted', 'rate-limited', 'network', 'tls', 'server-error', 'leased'],
  ...['config', 'unauthorized', 'forbidden', 'busy', 'full', 'gone'],
  ...['not-found', 'unprocessable', 'page-mismatch', 'repeated-page'],
])('a run that ended with %s is continued: same start of the scan, same windows, its own number', async (code) => {
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

test.each([...['bad-answer', 'too-large', 'tenant-mixup', 'accounting', 'unexpected']])(
  'a run that ended with %s is not continued: its windows are deleted',
  async (code) => {
    const mirror = await aMirror()
    await endedWith(mirror, code)

    const second = await start(mirror, START_MS + HOUR_MS)

    expect(second).toMatchObject({ resumedFrom: undefined, readAsOfMs: START_MS + HOUR_MS })
    expect([...(await mirror.recallWindows(second))]).toEqual([])
    expect(second.seen.size).toBe(0)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM windows')).toBe(0)
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
  expect(await mirror.findRun(killed.id)).toMatchObject({ status: 'interrupted', error: { code: 'interrupted' } })
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

test('for a proven run that continued another one, exactly the customers read by both count as seen', async () => {
  const mirror = await aMirror()
  await mirror.finishRun(await saved(mirror, [1, 2, 3], START_MS - HOUR_MS), proven(1), START_MS - HOUR_MS)
  await endedWith(mirror, 'interrupted')
  const second = await start(mirror, START_MS + HOUR_MS)

  const report = await mirror.finishRun(second, proven(1), START_MS + HOUR_MS)

  expect(report).toMatchObject({ removed: 10, missing: 0, readAsOfMs: START_MS })
  expect(valueOf(mirror.file, 'SELECT min(name) FROM customers WHERE removed_at IS NOT NULL')).toBe('Customer 21')
})

/** A run that read the first two pages and then ended so. */
async function endedWith(mirror: Mirror, code: string, nowMs = START_MS): Promise<Run> {
  const run = await saved(mirror, [1, 2], nowMs)
  await mirror.finishRun(run, ended(code), nowMs)
  return run
}

async function saved(mirror: Mirror, pages: readonly number[], nowMs: number): Promise<Run> {
  const run = await start(mirror, nowMs)
  await mirror.savePages(run, pages.map(recorded), nowMs)
  return run
}

function start(mirror: Mirror, nowMs: number, organization = 'acme'): Promise<Run> {
  return mirror.startRun({ organization, trigger: 'sync', nowMs, resumeWithinMs: RESUME_WITHIN_MS })
}

/** Page `page` of ten customers, as a chain of windows records it. */
function recorded(page: number): SortedPage {
  const window = { page, size: 10, perPage: 10, total: 30, lastPage: 3, beyondEnd: false }
  return { ...aPage(page, customers(10 * page - 9, 10 * page)), window }
}

function ended(code: string): Ending {
  const status = code === 'interrupted' ? 'interrupted' : 'failed'
  return anEnding({ status, reasons: [status], readToEnd: false, error: { code, message: 'made up' } })
}

function proven(after: number): Ending {
  const removals = { rule: { after, maxShare: 1 }, confirmed: new Set<string>() }
  return anEnding({ proof: 'proven', reasons: [], removals })
}
