import { expect, test } from 'vitest'
import { noRecords } from '../../src/model/report.ts'
import { RowSet } from '../../src/model/row-set.ts'
import { type Certificate, NO_PROOF } from '../../src/scan/scan.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { judgeSurplus } from '../../src/sync/read-list.ts'
import { customers } from '../support/builders.ts'
import { listedSource, mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'

const LIST = customers(1, 950)
const PROVEN: Certificate = {
  ...NO_PROOF,
  proof: 'proven',
  reasons: [],
  requests: 1,
  distinct: 1,
  total: undefined,
  pageSize: 100,
  stoppedAt: undefined,
  holes: [],
}

test.each([
  ['fewer than twenty are taken for customers who left meanwhile', 15, 'proven', []],
  ['more cost the proof', 100, 'unproven', ['total-mismatch']],
])('one answer with customers who are not listed: %s', async (_what, pageSize, proof, reasons) => {
  const mirror = await aMirror()
  const settings = { scan: 'chain', pageSize, concurrency: 1 } as const
  await mirrorOrganization(mirroring(mirror, listedSource(LIST), settings))
  let strangers = 0
  const source = sourceOf(async (window) => {
    const page = pageOfList(LIST, window)
    if (window.page !== 3 || strangers > 0) return page
    strangers = window.size
    return { ...pageOfList(customers(5001, 5950), window), total: page.total }
  })

  const { report } = await mirrorOrganization(mirroring(mirror, source, settings))

  expect(report).toMatchObject({ status: 'complete', proof, reasons, inserted: strangers })
  const next = await mirrorOrganization(mirroring(mirror, source, settings))
  expect(next.report).toMatchObject({ status: 'complete', proof: 'proven' })
  expect(next.report.missing + next.report.held).toBe(strangers)
})

type Received = { total: number; seen: number; inserted: number; rejected?: number; isBaseline?: boolean }

test.each<[string, Received, Certificate['proof']]>([
  ['twenty more than the service counts keep the proof', { total: 100, seen: 120, inserted: 120 }, 'proven'],
  ['twenty-one more cost it', { total: 100, seen: 121, inserted: 121 }, 'unproven'],
  ['a hundredth more of a long list keeps it', { total: 5000, seen: 5050, inserted: 5050 }, 'proven'],
  ['more than that costs it', { total: 5000, seen: 5051, inserted: 5051 }, 'unproven'],
  ['customers who are not new are none of them', { total: 100, seen: 150, inserted: 20 }, 'proven'],
  ['rejects count too', { total: 100, seen: 110, rejected: 11, inserted: 50 }, 'unproven'],
  ['in an initial sync all of them may be', { total: 100, seen: 150, inserted: 150, isBaseline: true }, 'proven'],
])('of customers received, %s', (_, { total, seen, inserted, rejected = 0, isBaseline = false }, proof) => {
  const run = {
    isBaseline,
    seen: new RowSet(),
    rejectedIds: new Set(customers(1, rejected).map(({ id }) => String(id))),
    records: { ...noRecords(), inserted },
  }
  for (let rowId = 1; rowId <= seen; rowId += 1) run.seen.add(rowId)

  expect(judgeSurplus({ ...PROVEN, total }, run).proof).toBe(proof)
})
