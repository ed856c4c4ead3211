import { expect, test } from 'vitest'
import type { Reason } from '../../src/model/reasons.ts'
import { endOf, startOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { type Answer, honest, notFound, scanOf, type Serve, upTo } from '../support/scanned-services.ts'
import { someOf } from '../support/seeds.ts'
import type { KnownList } from '../support/known-list.ts'

test.each<[string, (window: Window) => Answer, number]>([
  ['404', notFound, 1.5],
  ['a refusal', () => 'size-refused', 1.3],
  ['an error', () => 'hole', 3.4],
])('%s behind a position shows that the service shows no customer behind it', (_, refuse, most) => {
  for (const limit of someOf([1000, 2500, 990])) {
    for (const parallel of someOf([1, 4, 8])) {
      const behind = (window: Window, shown: Answer) =>
        refuse === notFound && startOf(window) < limit ? shown : refuse(window)
      const { certificate, requests, ids } = scanOf(upTo(limit, behind), { size: 3210, parallel })
      expect(certificate).toMatchObject({ limit, proof: 'unproven', isWhole: false, stoppedAt: undefined })
      expect(certificate.reasons).toContain('offset-limit')
      expect(ids.size).toBe(limit)
      expect(requests).toBeLessThan(most * 33 + 40)
    }
  }
})

test.each<[string, string, (window: Window) => Answer]>([
  ['404', 'not-found', notFound],
  ['a refusal', 'size-refused', () => 'size-refused'],
  ['another page', 'page-mismatch', () => 'page-mismatch'],
  ['the same page', 'repeated-page', () => 'repeated-page'],
])('%s for all but two pages of a million rows ends the scan in few requests: %s', (_, failure, refuse) => {
  const aRow = (position: number) => ({ id: String(position).padStart(9, '0'), createdAt: undefined })
  for (const { isPlain = false, only = 0 } of [{ isPlain: true }, {}, { only: 50 }]) {
    const serve: Serve = (_list, window) => {
      if (window.size < only) return 'size-refused'
      if (window.page > 2) return refuse(window)
      const rows = Array.from({ length: window.size }, (_row, place) => aRow(startOf(window) + place))
      return { window, rows, total: 1_000_000, perPage: window.size, beyondEnd: false }
    }
    for (const parallel of [1, 6]) {
      const { certificate, requests } = scanOf(serve, { isPlain, parallel, size: 1 })
      expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: { failure } })
      expect(certificate.reasons).toContain(failure === 'not-found' ? 'short-page' : failure)
      expect(requests).toBeLessThan(150)
    }
  }
})

test.each([2 ** 53 - 1, 1e11, 700])(
  'a total of %d over pages of fixed sizes is not believed, and does not fill the memory with plans',
  (total) => {
    const serve: Serve = (list, window) => (window.size % 50 === 0 ? { ...list.answer(window), total } : 'size-refused')

    expect(scanOf(serve, { size: 1500 })).toMatchObject({ certificate: { proof: 'unproven' }, lost: 0 })
  },
)

test.each([
  ['one size is', ({ page, size }: Window) => `${page}/${size}`, 'proven', 'witness'],
  ['every size is', ({ page, size }: Window) => (page === 1 ? '1' : `${page}/${size}`), 'settled', 'seams'],
])('the ends are read once more, and in another size where %s in a cache', (_, keyOf, proof, basis) => {
  const seen = new Set<string>()
  const asked: string[] = []
  const cached: Serve = (list, window) => {
    asked.push(`${window.page}/${window.size}`)
    if (seen.has(keyOf(window))) return 'cached-answer'
    seen.add(keyOf(window))
    return list.answer(window)
  }
  const { certificate, lost } = scanOf(cached, { between: (list) => (list.insert(), list.delete()) })
  expect({ lost, ...certificate }).toMatchObject({ lost: 0, proof, basis })
  expect(asked).toContain('1/99')
})

const cutAt1000 = (window: Window, shown: Answer) => (startOf(window) < 1000 ? shown : notFound(window))
const CAPS: [string, number, Serve][] = [
  ['shows 1,000 customers', 1000, upTo(1000, (_, shown) => shown, 1000)],
  ['shows 10,000 customers', 10_000, upTo(10_000, (_, shown) => shown, 10_000)],
  ['shows 1,000 customers and 404 behind them', 1000, upTo(1000, cutAt1000, 1000)],
  ['shows 1,000 customers and errors behind them', 1000, upTo(1000, () => 'hole', 1000)],
  ['shows all, but counts only 1,000', 1500, (list, window) => ({ ...list.answer(window), total: 1000 })],
]

test.each(someOf(CAPS))('a service that %s and says that these are all is believed nothing', (_, most, serve) => {
  for (const isPlain of [true, false]) {
    const size = most > 1500 ? 10_500 : 1500
    const night = scanOf(serve, { size, order: 'created asc, id asc', isPlain, parallel: 3 })
    expect(night.certificate).toMatchObject({ proof: 'unproven', stoppedAt: undefined })
    expect(night.certificate.reasons).toContain(isPlain ? 'plain-scan' : 'capped-total')
    expect(night.ids.size).toBe(most)
    expect(night.requests).toBeLessThan(most / 80 + 60)
  }
})

test.each([999, 1001, 2000, 9999])('a list of %d customers is not taken for a capped one', (size) => {
  expect(scanOf(honest, { size }).certificate.proof).toBe('proven')
})

test('a list of exactly a thousand customers that was longer during the scan is proven', () => {
  const between = (list: KnownList, _luck: unknown, answered: number) => answered === 5 && list.delete()
  const { certificate } = scanOf(honest, { size: 1001, between })
  expect(certificate).toMatchObject({ proof: 'proven', reasons: [], total: 1000 })
})

test.each(['created asc, id asc', 'name', 'id asc'] as const)(
  'by %s: pages that fail behind the end of a list that became shorter prove nothing of the customers who moved up meanwhile',
  (order) => {
    for (const gone of [55, 100]) {
      const { certificate, lost } = scanOf(
        (list, window) => (startOf(window) >= 90 ? 'hole' : honest(list, window, 0)),
        { size: 150, order, between: (list, _luck, answered) => answered === 1 && list.delete(gone, 0) },
      )
      expect({ gone, isUnproven: certificate.proof === 'unproven', lost }).toEqual({ gone, isUnproven: false, lost: 0 })
    }
  },
)

test('where a row has no creation time, creation times prove nothing, even where it stands first', () => {
  const { certificate } = scanOf(
    (list, window) => {
      const answer = list.answer(window)
      const [first, ...others] = answer.rows
      const isUndated = window.page === 1 && first !== undefined
      return isUndated ? { ...answer, rows: [{ ...first, createdAt: undefined }, ...others] } : answer
    },
    { order: 'created asc, id asc' },
  )

  expect(certificate.proof).toBe('settled')
})

type Shown = (rows: WindowAnswer['rows'], from: number, to: number) => WindowAnswer['rows']

// The rows from position 600 on are those from position 200 on.
const repeated: Shown = (rows, ...at) => rows.toSpliced(600, 30, ...rows.slice(200, 230)).slice(...at)
const slipped: Shown = (rows, from, to) => {
  const back = 60 * [300, 600].filter((position) => position <= from).length
  return rows.slice(from - back, to - back)
}
const leftOut: Shown = (rows, from, to) => (from < 250 && to > 255 ? rows.toSpliced(250, 1) : rows).slice(from, to)
const swapped: Shown = (rows, from, to) =>
  ((from & 2) > 0 ? rows.map((row, at) => rows[at ^ 1] ?? row) : rows).slice(from, to)

test.each<[string, number, Shown, Reason, stopAfter?: number]>([
  ['repeats rows in place of others, while the last ones leave,', 0.3, repeated, 'total-mismatch'],
  ['begins its pages far too early behind two positions', 0, slipped, 'link-broken'],
  ['leaves out one row', 0, leftOut, 'total-mismatch'],
  ['leaves out one row after an interruption', 0, leftOut, 'total-mismatch', 2],
  ['has each two rows in another order on every other page', 0, swapped, 'order-unstable'],
])('a service that %s settles nothing, although its neighbours share rows', (...row) => {
  const [, share, shown, reason, stopAfter] = row
  const serve: Serve = (list, window) => {
    const { rows } = list.answer({ page: 1, size: list.size })
    return { ...list.answer(window), rows: shown(rows, startOf(window), Math.min(endOf(window), list.size)) }
  }
  const { certificate } = scanOf(serve, {
    ...{ size: 900, order: 'name', ...(stopAfter && { stopAfter }) },
    between: (list, luck) => luck.chance(share) && list.delete(1, list.size - 1),
  })
  expect(certificate).toMatchObject({ proof: 'unproven', reasons: [reason] })
})

test('an import of one second, ordered by time and then by id, is proven in at most 1.4 times the plain requests', () => {
  const import1s = { size: 3000, order: 'created desc, id desc', createdSecondOf: () => 0 } as const

  const { certificate, requests } = scanOf(honest, import1s)
  const small = scanOf(honest, { ...import1s, size: 20 + 9 * 3, pageSize: 9 })

  expect(certificate).toMatchObject({ proof: 'proven', basis: 'witness' })
  expect(requests).toBeLessThanOrEqual(1.4 * 30)
  expect(small.certificate.proof, 'pages in which order may be chance').toBe('settled')
})
