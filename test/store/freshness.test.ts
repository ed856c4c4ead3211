import { expect, test } from 'vitest'
import { customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'
import { night, quickRun } from './nights.ts'

const REFUSED = { status: 'failed', error: { code: 'unauthorized', message: 'no' } } as const
const COMPLETE = { lastStatus: 'complete', lastFullStatus: 'complete' } as const

test('freshness has a row for each organization', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[...customers(1, 4), null]], { organization: 'acme' })
  await mirrorPages(mirror, [customers(1, 2)], { organization: 'globex', atMs: START_MS + MINUTE_MS })
  tamper(mirror.file, `UPDATE customers SET missing_since = '2026-01-04' WHERE organization = 'acme' AND row_id <= 2`)
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-05' WHERE organization = 'acme' AND row_id = 1`)

  const none = { missing: 0, removed: 0, held: 0, openRejects: 0 }
  const why = { why: ['plain-scan'], readReasons: ['plain-scan'] }
  const plain = { provenAsOfMs: undefined, proof: 'unproven', ...COMPLETE, ...why }
  expect(await mirror.listFreshness()).toEqual([
    {
      ...{ organization: 'acme', readAsOfMs: START_MS, lastRunId: 1, ...plain },
      firstRunAtMs: START_MS,
      ...{ active: 3, missing: 1, removed: 1, held: 0, openRejects: 1 },
    },
    {
      ...{ organization: 'globex', readAsOfMs: START_MS + MINUTE_MS, lastRunId: 2 },
      ...{ ...plain, active: 2, ...none, firstRunAtMs: START_MS + MINUTE_MS },
    },
  ])
})

test('why: the error of the last run first, then what the last reading could not prove, each once', async () => {
  const mirror = await aMirror()
  const reasons = ['short-page', 'hole']
  await mirrorPages(mirror, [customers(1, 2)], { ending: { reasons } })
  await mirrorPages(mirror, [], { ending: { ...REFUSED, reasons: ['failed'], readToEnd: false } })
  expect(await mirror.listFreshness()).toMatchObject([{ why: ['unauthorized', ...reasons] }])

  await mirrorPages(mirror, [], { ending: { reasons: ['cached-answer', 'hole'], readToEnd: false } })
  expect(await mirror.listFreshness()).toMatchObject([{ why: ['cached-answer', 'hole', 'short-page'] }])

  await mirrorPages(mirror, [customers(1, 2)], { ending: { proof: 'proven', reasons: [] } })
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  expect(await mirror.listFreshness()).toMatchObject([{ lastStatus: 'running', why: [] }])
})

test('the last run of each organization is listed, with the start of its last complete one, and runs under way with their kind', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)], { organization: 'acme', atMs: START_MS })
  await mirrorPages(mirror, [], { atMs: START_MS + MINUTE_MS, ending: REFUSED })
  const cached = { reasons: ['cached-answer'], readToEnd: false }
  await mirrorPages(mirror, [], { organization: 'globex', ending: cached })
  await mirror.startRun({ organization: 'initech', trigger: 'schedule', nowMs: START_MS })
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS, isPartial: true })

  const began = { startedAtMs: START_MS, firstRunAtMs: START_MS, readAsOfMs: undefined, errorCode: undefined }
  expect(await mirror.listLastRuns()).toEqual([
    {
      ...{ ...began, organization: 'acme', startedAtMs: START_MS + MINUTE_MS, endedAtMs: START_MS + MINUTE_MS },
      ...{ status: 'failed', errorCode: 'unauthorized', readAsOfMs: START_MS },
    },
    { ...began, organization: 'globex', endedAtMs: START_MS, status: 'complete' },
    { ...began, organization: 'initech', endedAtMs: undefined, status: 'running' },
  ])
  const underWay = { startedAtMs: START_MS, read: 0 }
  expect(await mirror.listUnderway({ nowMs: START_MS, monotonicMs: undefined })).toMatchObject([
    { ...underWay, organization: 'acme', runId: 5, isPartial: true },
    { ...underWay, organization: 'initech', runId: 4, isPartial: false },
  ])
})

const FAILED = { status: 'failed', trustedPages: undefined, error: { code: 'network', message: 'gone' } } as const

test('a quick run is not the last run that decides what is due, and none of its failures is why a scan is not proven', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 50), { ending: REFUSED })
  const [lastRun] = await mirror.listLastRuns()

  await quickRun(mirror, 0, [])
  await quickRun(mirror, 0, [], { ending: FAILED })

  expect(await mirror.listLastRuns()).toEqual([{ ...lastRun, partialErrorCode: 'network' }])
  const failed = { lastRunId: 3, lastStatus: 'failed', lastFullStatus: 'failed', why: ['unauthorized'] }
  expect(await mirror.listFreshness()).toMatchObject([failed])
  const trusted = rowsOf(mirror.file, 'SELECT trusted_pages FROM runs').map(({ trusted_pages }) => trusted_pages)
  expect(trusted).toEqual([null, 12, 0])
})
