import { expect, test } from 'vitest'
import { aCustomer, customers, MINUTE_MS, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'

test('freshness tells each organization apart', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[...customers(1, 4), null]], { organization: 'acme' })
  await mirrorPages(mirror, [customers(1, 2)], { organization: 'globex', atMs: START_MS + MINUTE_MS })
  tamper(mirror.file, `UPDATE customers SET missing_since = '2026-01-04' WHERE row_id <= 2`)
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-05' WHERE row_id = 1`)

  const none = { missing: 0, removed: 0, openRejects: 0 }
  expect(await mirror.listFreshness()).toEqual([
    {
      ...{ organization: 'acme', dataAsOfMs: START_MS, proof: 'unproven', lastRunId: 1, lastStatus: 'complete' },
      ...{ active: 3, missing: 1, removed: 1, openRejects: 1 },
    },
    {
      ...{ organization: 'globex', dataAsOfMs: START_MS + MINUTE_MS, proof: 'unproven', lastRunId: 2 },
      ...{ lastStatus: 'complete', active: 2, ...none },
    },
  ])
})

test('an organization that nobody mirrored yet is not listed', async () => {
  expect(await (await aMirror()).listFreshness()).toEqual([])
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
    { dataAsOfMs: START_MS, lastStatus: ending.status, lastRunId: 2 },
  ])
})

test('data that was never read to its end has no age', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)], { ending: { status: 'failed', reasons: ['failed'], readToEnd: false } })

  expect(await mirror.listFreshness()).toMatchObject([{ dataAsOfMs: undefined, proof: undefined, active: 2 }])
  expect(rowsOf(mirror.file, 'SELECT data_as_of, age_seconds FROM freshness')).toEqual([
    { data_as_of: null, age_seconds: null },
  ])
})

test.each(['proven', 'converged'] as const)('a %s scan counts, whatever else is said about it', async (proof) => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)], { ending: { proof, reasons: ['some note'] } })

  expect(await mirror.listFreshness()).toMatchObject([{ dataAsOfMs: START_MS, proof }])
})

test('the age is counted in seconds up to now', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)])
  tamper(mirror.file, `UPDATE runs SET data_as_of = strftime('%Y-%m-%d %H:%M:%f', 'now', '-2 days')`)

  const age = Number(valueOf(mirror.file, 'SELECT age_seconds FROM freshness'))

  expect(Math.floor(age / 3600)).toBe(48)
})
