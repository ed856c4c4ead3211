import { expect, test } from 'vitest'
import { addsUp } from '../../src/model/report.ts'
import { aCustomer, anEnding, aPage, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'

test('a run is recorded with all its numbers, and read back unchanged', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'schedule', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, [...customers(1, 3), aCustomer(3), null])], START_MS)
  const source = { requests: 3, throttled: 1, waitedMs: 2500 }

  const told = await mirror.finishRun(run, anEnding({ source }), START_MS + 5 * MINUTE_MS)

  expect(told).toMatchObject({
    ...{ organization: 'acme', trigger: 'schedule', status: 'complete', proof: 'unproven', reasons: ['plain-scan'] },
    ...{ received: 5, inserted: 3, duplicates: 1, rejected: 1, pages: 1, ...source },
    ...{ startedAtMs: START_MS, durationMs: 5 * MINUTE_MS, readAsOfMs: START_MS },
  })
  expect(await mirror.listRuns({ limit: 5 })).toEqual([told])
})

test('a run that was left running is closed as interrupted by the next one, and keeps its numbers', async () => {
  const mirror = await aMirror()
  const left = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const other = await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(left, [aPage(1, customers(1, 3))], START_MS)

  await mirrorPages(mirror, [customers(1, 4)], { atMs: START_MS + MINUTE_MS })

  expect(await mirror.listRuns({ organization: 'acme', limit: 5 })).toMatchObject([
    { status: 'complete', unchanged: 3, inserted: 1 },
    { status: 'interrupted', inserted: 3, reasons: ['interrupted'], error: { code: 'interrupted' } },
  ])
  expect(valueOf(mirror.file, 'SELECT status FROM runs WHERE id = ?', other.id)).toBe('running')
})

test('runs are listed newest first, of one organization or all, up to the limit', async () => {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex', 'acme']) await mirrorPages(mirror, [], { organization })
  const listed = async (filter: { organization?: string; limit: number }) =>
    (await mirror.listRuns(filter)).map(({ runId }) => runId)

  expect(await listed({ limit: 10 })).toEqual([3, 2, 1])
  expect(await listed({ limit: 2 })).toEqual([3, 2])
  expect(await listed({ organization: 'acme', limit: 10 })).toEqual([3, 1])
  expect(await listed({ organization: 'unknown', limit: 10 })).toEqual([])
})

test('no run whose numbers do not add up is ever recorded as complete', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS)
  expect(addsUp(run.records)).toBe(true)

  await Promise.try(() => tamper(mirror.file, 'UPDATE runs SET received = received + 1')).catch(() => {})
  await mirror.finishRun(run, anEnding(), START_MS).catch(() => {})

  expect(
    rowsOf(
      mirror.file,
      `SELECT id FROM runs WHERE status = 'complete'
       AND received <> inserted + updated + unchanged + duplicates + rejected`,
    ),
  ).toEqual([])
})
