import { expect, test } from 'vitest'
import { startOf, type Window } from '../../src/scan/window.ts'
import { type Answer, honest, notFound, scanOf, type Serve, upTo } from '../support/scanned-services.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { IMMUTABLE_ORDERS, type KnownList } from '../support/known-list.ts'

const LIMITS: [string, (window: Window) => Answer, number][] = [
  ['404', notFound, 1.5],
  ['a refusal', () => 'size-refused', 1.3],
  ['an error', () => 'hole', 3.4],
]

test.each(LIMITS)('%s behind a position shows that the service shows no customer behind it', (_, refuse, most) => {
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
  for (const [isPlain, only] of [
    [true, 0],
    [false, 0],
    [false, 50],
  ] as const) {
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

test.each([2 ** 53 - 1, 1e11])(
  'a total of %d over pages of fixed sizes does not fill the memory with plans',
  (total) => {
    const serve: Serve = (list, window) => (window.size % 50 === 0 ? { ...list.answer(window), total } : 'size-refused')

    expect(scanOf(serve).certificate.proof).toBe('unproven')
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

const SHOWS_1000 = upTo(1000, (_, shown) => shown, 1000)
const CAPS: [string, number, Serve][] = [
  ['shows 1,000 customers', 1000, SHOWS_1000],
  ['shows 10,000 customers', 10_000, upTo(10_000, (_, shown) => shown, 10_000)],
  [
    'shows 1,000 customers and 404 behind them',
    1000,
    upTo(1000, (window, shown) => (startOf(window) < 1000 ? shown : notFound(window)), 1000),
  ],
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

test.each(IMMUTABLE_ORDERS)('a list by %s of about 1,000 behind a cap is certified only where it is whole', (order) => {
  for (let seed = 1; seed <= seeds(200, { least: 8, every: 25 }); seed += 1) {
    const size = 985 + (seed % 30)
    const between = (list: KnownList) => (seed % 3 === 0 ? (list.insert(), seed % 2 === 0 && list.delete()) : undefined)
    const { certificate, lost } = scanOf(SHOWS_1000, { size, order, seed, between, parallel: 1 + (seed % 4) })
    if (certificate.proof !== 'unproven') expect({ seed, lost }).toEqual({ seed, lost: 0 })
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
