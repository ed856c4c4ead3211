import { expect, test } from 'vitest'
import type { Reason } from '../../src/model/reasons.ts'
import { noRecords } from '../../src/model/report.ts'
import { RowSet } from '../../src/model/row-set.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Certificate } from '../../src/scan/scan.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { cappedTotal, judgeSurplus, refuseGaps } from '../../src/sync/read-list.ts'
import { customers } from '../support/builders.ts'
import { listedSource, mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'

const LIST = customers(1, 950)
const PROVEN: Certificate = { ...new ListScan().certificate(), proof: 'proven', reasons: [] }

test('one answer with a page of customers who are not listed costs the proof, and they are absent the next night', async () => {
  const mirror = await aMirror()
  const settings = { scan: 'chain', pageSize: 100, concurrency: 1 } as const
  await mirrorOrganization(mirroring(mirror, listedSource(LIST), settings))
  let strangers = 0
  const source = sourceOf(async (window) => {
    const page = pageOfList(LIST, window)
    if (window.page !== 3 || strangers > 0) return page
    strangers = window.size
    return { ...pageOfList(customers(5001, 5950), window), total: page.total }
  })

  const { report } = await mirrorOrganization(mirroring(mirror, source, settings))

  const unproven = { status: 'complete', proof: 'unproven', reasons: ['total-mismatch'] }
  expect(report).toMatchObject({ ...unproven, inserted: strangers })
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

const listOf = (...rowIds: number[]) => ({ columns: { rowIds: Uint32Array.from(rowIds) } })
const BEFORE = { ...listOf(5, 4, 3, 2, 1), total: 5 }

test.each<
  [string, total: number | undefined, rowIds: number[], inserted: number, capped?: number | undefined, was?: number]
>([
  ['customers came, and as many fell off the end', 5, [7, 6, 5, 4, 3], 2, 5],
  ['one came and an update moved another: the end is the same', 5, [6, 4, 5, 3, 2], 1, 5],
  ['nobody came', 5, [5, 4, 3, 2], 0],
  ['the total grew', 7, [7, 6, 5, 4, 3, 2, 1], 2],
  ['one in the middle left', 5, [6, 5, 4, 2, 1], 1],
  ['the last one left, and the new one stands at the end', 5, [5, 4, 3, 2, 6], 1],
  ['without a total', undefined, [7, 6, 5, 4, 3], 2],
  ['a limit that was found stays one', 5, [5, 4, 3, 2, 1], 0, 5, 5],
  ['a limit that was found is none any more, once the total is another', 6, [5, 4, 3, 2, 1], 0, undefined, 5],
])('after a total of five: %s', (_, total, rowIds, inserted, capped, was) => {
  const received = { seen: new Set(rowIds), records: { inserted } }
  const before = { ...BEFORE, cappedAt: was }

  expect(cappedTotal(total, { before, after: listOf(...rowIds) }, received)).toBe(capped)
})

test.each<[string, read: number, reach: number, total: number, Reason[], left?: string | undefined, holes?: number]>([
  ['every position', 150, 150, 150, ['no-witness']],
  ['the same customers at other positions, since rows were pushed down', 140, 190, 190, ['no-witness']],
  ['the same customers at other positions, and too few', 150, 250, 250, ['short-page'], '150 of the first 250'],
  ['a tenth left out', 135, 150, 150, ['short-page']],
  ['more left out', 130, 150, 150, ['short-page'], '130 of the first 150'],
  ['a total that is too high', 150, 150, 2000, ['short-page']],
  ['none, and a total', 0, 0, 450, ['short-page'], '0 of the first 450'],
  ['none, and no total', 0, 0, 0, ['total-mismatch']],
  ['four of five, and a hole', 4, 5, 5, ['hole'], undefined, 1],
  ['half of the list, and holes', 200, 400, 400, ['hole'], '200 of the first 400', 200],
  ['an end that is too large to read', 100, 100, 450, ['too-large'], '100 of the first 450'],
  ['an end that only a cache answers', 100, 100, 450, ['cached-answer'], '100 of the first 450'],
])('pages that held %s', (_what, unrepeated, reach, total, reasons, left, size = 0) => {
  const read = { ...new ListScan().certificate(), unrepeated, reach, total, reasons, holes: [{ position: 2, size }] }
  const refuse = () => refuseGaps(read, 'acme')

  if (left === undefined) expect(refuse).not.toThrow()
  else expect(refuse).toThrow(left)
})

test.each([
  ['one of eight', 8, 8],
  ['each of forty', 40, 1],
  ['every third of a thousand', 1000, 3],
])('a list that lists %s customers twice is read: that costs the proof alone', async (_what, size, every) => {
  const list = customers(1, size).flatMap((one, index) => (index % every === 0 ? [one, one] : [one]))
  const mirror = await aMirror()

  const { report } = await mirrorOrganization(mirroring(mirror, listedSource(list), { scan: 'chain', pageSize: 100 }))

  expect(report).toMatchObject({ status: 'complete', proof: 'unproven', inserted: size })
  expect(valueOf(mirror.file, 'SELECT read_as_of FROM freshness')).not.toBeNull()
})
