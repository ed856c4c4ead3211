import { expect, test } from 'vitest'
import { aCustomer, customerId, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
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
  const plain = { provenAsOfMs: undefined, proof: 'unproven', ...COMPLETE, why: ['plain-scan'] }
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

test.each([
  ['failed', { status: 'failed', reasons: ['failed'] }],
  ['was stopped', { status: 'interrupted', reasons: ['interrupted'] }],
  ['may have read a cached list', { status: 'complete', reasons: ['cached-answer'] }],
] as const)('a run that %s makes the data no fresher, resolves no reject and is no baseline', async (_, told) => {
  const mirror = await aMirror()
  const ending = { ...told, readToEnd: false }
  const broken = aCustomer(20, { email: [] })
  const changed = () => rowsOf(mirror.file, 'SELECT id FROM changes').map(({ id }) => id)
  await mirrorPages(mirror, [[...customers(1, 5), broken]], { ending })
  const renamed = [aCustomer(1, { name: 'Renamed' }), ...customers(2, 9), broken]
  await mirrorPages(mirror, [renamed], { atMs: START_MS + MINUTE_MS })
  expect(changed()).toEqual([])
  await mirrorPages(mirror, [[aCustomer(10)]], { atMs: START_MS + 2 * MINUTE_MS, ending })

  const fresh = { readAsOfMs: START_MS + MINUTE_MS, lastStatus: told.status, lastRunId: 3 }
  expect(await mirror.listFreshness()).toMatchObject([fresh])
  expect(await mirror.listRejects({ limit: 9 })).toHaveLength(1)
  expect(changed()).toEqual([customerId(10)])
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

test('the last run of each organization is listed, with the start of its last complete one', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)], { organization: 'acme', atMs: START_MS })
  await mirrorPages(mirror, [], { atMs: START_MS + MINUTE_MS, ending: REFUSED })
  const cached = { reasons: ['cached-answer'], readToEnd: false }
  await mirrorPages(mirror, [], { organization: 'globex', ending: cached })
  await mirror.startRun({ organization: 'initech', trigger: 'schedule', nowMs: START_MS })

  const began = { startedAtMs: START_MS, firstRunAtMs: START_MS, readAsOfMs: undefined, errorCode: undefined }
  expect(await mirror.listLastRuns()).toEqual([
    {
      ...{ ...began, organization: 'acme', startedAtMs: START_MS + MINUTE_MS, endedAtMs: START_MS + MINUTE_MS },
      ...{ status: 'failed', errorCode: 'unauthorized', readAsOfMs: START_MS },
    },
    { ...began, organization: 'globex', endedAtMs: START_MS, status: 'complete' },
    { ...began, organization: 'initech', endedAtMs: undefined, status: 'running' },
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
  expect(await mirror.listFreshness()).toMatchObject([
    { lastRunId: 3, lastStatus: 'failed', lastFullStatus: 'failed', why: ['unauthorized'] },
  ])
  const trusted = rowsOf(mirror.file, 'SELECT trusted_pages FROM runs').map(({ trusted_pages }) => trusted_pages)
  expect(trusted).toEqual([null, 12, 0])
})

test.each([false, true])('a run that is under way says whether it is a quick one: %s', async (isPartial) => {
  const mirror = await aMirror()
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS, isPartial })

  expect(await mirror.listUnderway({ nowMs: START_MS, monotonicMs: undefined })).toMatchObject([
    { organization: 'acme', runId: 1, startedAtMs: START_MS, isPartial, read: 0 },
  ])
})
