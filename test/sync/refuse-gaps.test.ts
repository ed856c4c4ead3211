import { expect, test } from 'vitest'
import type { Reason } from '../../src/model/reasons.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import { refuseGaps } from '../../src/sync/read-list.ts'
import { customers } from '../support/builders.ts'
import { listedSource, mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'

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

test.each([['no customers', 0]])(
  'a service whose pages hold %s has not been read: the run fails',
  async (_what, size) => {
    const list = customers(1, 450)
    const source = sourceOf(async (window) => {
      const page = pageOfList(list.slice(0, size * window.page).slice(size * (window.page - 1)), { ...window, page: 1 })
      return { ...page, page: window.page, total: list.length }
    })

    const { report } = await mirrorOrganization(mirroring(await aMirror(), source, { scan: 'chain', pageSize: 100 }))

    expect(report).toMatchObject({ status: 'failed', error: { code: 'page-mismatch' } })
  },
)
