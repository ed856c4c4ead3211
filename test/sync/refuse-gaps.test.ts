import { expect, test } from 'vitest'
import type { Reason } from '../../src/model/reasons.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { refuseGaps } from '../../src/sync/refuse-gaps.ts'
import { customers } from '../support/builders.ts'
import { listedSource, mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'

/** Each window as `start+count`, or as `start+count=first` where its customers are those from another position on. */
test.each<[string, pages: string, total: number, Reason[], left?: string | undefined, holes?: number]>([
  ['every position', '0+100 100+50', 150, []],
  ['windows that overlap', '0+100 90+60', 150, []],
  ['a tenth left out', '0+90 100+50', 150, []],
  ['more left out', '0+80 100+50', 150, [], '130 of the first 150'],
  ['a total that is too high', '0+100 100+50', 2000, ['short-page']],
  ['none, and a total', '0+0 100+0', 450, ['short-page'], '0 of the first 450'],
  ['none, and no total', '0+0', 0, []],
  ['four of five, and a hole', '0+2 3+2', 5, ['hole'], undefined, 1],
  ['half of the list, and holes', '0+100 300+100', 400, ['hole'], '200 of the first 400', 200],
  [
    'the same customers at other positions',
    '0+50 100+50=50 150+50=50 200+50',
    250,
    ['short-page'],
    '150 of the first 250',
  ],
  ['the same where rows were pushed down', '0+100 90+100=40', 190, ['no-witness']],
  ['the last page again, far behind it', '0+100 100+20 400+20=100', 0, ['total-mismatch']],
  ['an end that is too large to read', '0+100 100+0', 450, ['too-large'], '100 of the first 450'],
  ['an end that only a cache answers', '0+100 100+0', 450, ['cached-answer'], '100 of the first 450'],
])('pages that held %s', (_what, pages, total, reasons, left, size = 0) => {
  const windows = pages.split(' ').map((page) => {
    const [start = 0, count = 0, first = start] = page.split(/[+=]/).map(Number)
    return {
      start,
      count,
      from: 0,
      columns: { rowIds: Uint32Array.from({ length: count }, (_, row) => first + row + 1) },
    }
  })
  const refuse = () =>
    refuseGaps(windows, { proof: 'unproven', total, reasons, holes: [{ position: 2, size }], limit: undefined }, 'acme')

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
