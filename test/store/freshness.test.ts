import { expect, test } from 'vitest'
import { aCustomer, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../support/mirror-file.ts'

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
  ['read only some pages', { status: 'complete', reasons: ['page-limit'] }],
] as const)('a run that %s does not make the data any fresher', async (_, ending) => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)])

  await mirrorPages(mirror, [[aCustomer(3)]], { atMs: START_MS + MINUTE_MS, ending: { ...ending, readToEnd: false } })

  expect(await mirror.listFreshness()).toMatchObject([
    { readAsOfMs: START_MS, lastStatus: ending.status, lastRunId: 2 },
  ])
})

test.each([
  ['plain', { proof: 'unproven', reasons: ['plain-scan'] }, undefined],
  ['settled', { proof: 'settled', reasons: ['no-witness'] }, START_MS],
] as const)(
  'a %s scan keeps read_as_of fresh, and proven_as_of where it is settled',
  async (_, ending, provenAsOfMs) => {
    const mirror = await aMirror()
    await mirrorPages(mirror, [customers(1, 2)], { ending })

    expect(await mirror.listFreshness()).toMatchObject([{ readAsOfMs: START_MS, provenAsOfMs, why: ending.reasons }])
  },
)

test('why: the error of the last run first, then what the last reading could not prove, each once', async () => {
  const mirror = await aMirror()
  const reasons = ['short-page', 'hole']
  await mirrorPages(mirror, [customers(1, 2)], { ending: { reasons } })
  const error = { code: 'unauthorized', message: 'no' }
  await mirrorPages(mirror, [], { ending: { status: 'failed', reasons: ['failed'], readToEnd: false, error } })
  expect(await mirror.listFreshness()).toMatchObject([{ why: ['unauthorized', ...reasons] }])

  await mirrorPages(mirror, [], { ending: { reasons: ['page-limit', 'hole'], readToEnd: false } })
  expect(await mirror.listFreshness()).toMatchObject([{ why: ['page-limit', 'hole', 'short-page'] }])

  await mirrorPages(mirror, [customers(1, 2)], { ending: { proof: 'proven', reasons: [] } })
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  expect(await mirror.listFreshness()).toMatchObject([{ lastStatus: 'running', why: [] }])
})

test('held are the open removals of the organization, whichever run held them back', async () => {
  const mirror = await aMirror()
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>() }
  const ending = { proof: 'proven', reasons: [], removals } as const
  for (const organization of ['acme', 'globex'])
    await mirrorPages(mirror, [customers(1, 100)], { organization, ending })
  const { runId = 0 } = await mirrorPages(mirror, [customers(51, 100)], { ending })
  await mirrorPages(mirror, [customers(51, 100)], { ending: { reasons: ['hole'] } })
  const held = () => rowsOf(mirror.file, 'SELECT organization, held FROM freshness ORDER BY organization')

  expect(held()).toEqual([
    { organization: 'acme', held: 50 },
    { organization: 'globex', held: 0 },
  ])
  await mirror.discardRemovals(runId)
  expect(await mirror.listFreshness()).toMatchObject([{ held: 0 }, { held: 0 }])
})
