import { expect, test } from 'vitest'
import { aCustomer, customers } from '../support/builders.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { fateOf, night, quickRun } from './nights.ts'

const FAILED = { status: 'failed', trustedPages: undefined, error: { code: 'network', message: 'gone' } } as const
const LISTED = customers(1, 50)
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
