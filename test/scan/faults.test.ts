import { expect, test } from 'vitest'
import { endOf, startOf, type Window } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { type Answer, countless, covers, honest, notFound, scanOf, type Serve, upTo } from './scanned-services.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { IMMUTABLE_ORDERS, SimulatedList } from './simulated-list.ts'

test.each([
  ['cannot be read', 'hole'],
  ['is too large by itself', 'too-large'],
] as const)('a row that %s costs that one row, wherever it stands', (_, failure) => {
  for (const position of [0, 1, 99, 100, 333, 949]) {
    for (const parallel of [1, 6]) {
      const { certificate, lost } = scanOf((list, at) => (covers(at, position) ? failure : honest(list, at, 0)), {
        parallel,
      })
      expect(certificate).toMatchObject({ proof: 'unproven', reasons: ['hole'], holes: [{ position, size: 1 }] })
      expect(lost).toBe(1)
    }
  }
})

const LIMITS: [string, (window: Window) => Answer, number][] = [
  ['404', notFound, 1.5],
  ['a refusal', () => 'size-refused', 1.3],
  ['an error', () => 'hole', 3.4],
]

test.each(LIMITS)('%s behind a position shows that the service shows no customer behind it', (_, refuse, most) => {
  for (const limit of [1000, 990, 2500]) {
    for (const parallel of [1, 4, 8]) {
      const behind = (window: Window, shown: Answer) =>
        refuse === notFound && startOf(window) < limit ? shown : refuse(window)
      const { certificate, requests, ids } = scanOf(upTo(limit, behind), { size: 3210, parallel })
      expect(certificate).toMatchObject({
        limit,
        proof: 'unproven',
        isWhole: false,
        stoppedAt: undefined,
      })
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

test.each([true, false])('a first page refused in both sizes is the end of a scan (plain: %s)', (isPlain) => {
  const { certificate, asked } = scanOf(() => 'size-refused', { isPlain })
  expect(asked.map(({ size }) => size)).toEqual([100, 50])
  expect(certificate.reasons).toContain('size-refused')
})

test('a plain scan whose first page is refused for its size reads each page of fifty once', () => {
  for (const parallel of [1, 4]) {
    const serve: Serve = (list, window) => (window.size > 50 ? 'size-refused' : list.answer(window))
    const { certificate, lost, asked } = scanOf(serve, { isPlain: true, parallel })
    expect({ lost, ...certificate }).toMatchObject({
      lost: 0,
      reasons: ['plain-scan'],
      stoppedAt: undefined,
      pageSize: 50,
    })
    expect(new Set(asked.map(({ page, size }) => `${page}/${size}`)).size).toBe(20)
    expect(asked).toHaveLength(20)
  }
})

test.each<[string, Serve]>([
  ['404', (list, window) => (startOf(window) < list.size ? list.answer(window) : notFound(window))],
  ['the last page', (list, window) => (startOf(window) < list.size ? list.answer(window) : 'page-mismatch')],
  ['a refusal', (list, window) => (startOf(window) < list.size ? list.answer(window) : 'size-refused')],
  ['an empty page', honest],
])('a list that shrinks while it is read is read to its end, where %s stands behind it', (_, serve) => {
  for (const gone of someOf([20, 60, 150, 700])) {
    for (const isPlain of [true, false]) {
      for (let when = 1; when <= 9; when += 1) {
        const between = (list: SimulatedList, _luck: unknown, answered: number) => {
          if (answered === when) for (let left = gone; left > 0; left -= 1) list.delete()
        }
        const { certificate, lost, requests } = scanOf(serve, { isPlain, between })
        if (certificate.proof !== 'unproven') expect({ gone, when, lost }).toEqual({ gone, when, lost: 0 })
        // Where more than a page leaves at once, a page that is not found may end the scan, as may half a page in a plain one: the next run goes
        // on from there.
        if (gone === 20 || (gone < 100 && !isPlain))
          expect({ gone, when, ...certificate }).toMatchObject({ gone, when, stoppedAt: undefined, limit: undefined })
        if (gone === 20)
          expect({ when, isPlain, ...certificate }).toMatchObject({
            when,
            isPlain,
            proof: isPlain ? 'unproven' : 'proven',
          })
        expect(requests).toBeLessThan(40)
      }
    }
  }
})

test('pages rounded down to fifty that state the size asked for prove nothing, also where the list changes', () => {
  for (const order of ['id asc', 'serial'] as const) {
    for (let size = 110; size < 150; size += 1) {
      const serve: Serve = (list, window) => {
        const served = window.size > 50 && window.page > 1 ? 50 : window.size
        return { ...list.answer({ page: window.page, size: served }), window, perPage: window.size }
      }
      for (const share of [0.5, 1]) {
        const { certificate, lost } = scanOf(serve, {
          ...{ size, order, seed: size },
          between: (list, luck) => {
            list.insert()
            if (luck.chance(share)) list.delete(1, list.size - 2)
          },
        })
        if (certificate.proof !== 'unproven')
          expect({ size, order, share, lost }).toEqual({ size, order, share, lost: 0 })
      }
    }
  }
})

test.each(['id asc', 'created asc, id asc'] as const)(
  '%s: a row that one answer leaves out is read, or the scan is unproven',
  (order) => {
    for (let left = 1; left < 10; left += 1) {
      const leavesOut: Serve = (list, window, answered) => {
        const answer = list.answer(window)
        const [next] = list.answer({ page: endOf(window) + 1, size: 1 }).rows
        return answered === left && next !== undefined
          ? { ...answer, rows: [...answer.rows.toSpliced(50, 1), next] }
          : answer
      }
      const { certificate, lost } = scanOf(leavesOut, { order })
      if (certificate.proof !== 'unproven') expect({ left, lost }).toEqual({ left, lost: 0 })
    }
  },
)

test.each([
  [10, 57, 27, 5],
  [20, 107, 64, 17],
  [20, 167, 96, 13],
  [40, 207, 150, 25],
  [40, 327, 282, 41],
])(
  'in pages of %d, a list of %d is read to its end although the customer at %d is listed again %d places later',
  (pageSize, size, place, later) => {
    const twice: Serve = (list, window) => {
      const { rows } = list.answer({ page: 1, size })
      const listed = rows.toSpliced(place + later, 0, ...rows.slice(place, place + 1))
      const shown = listed.slice(startOf(window), endOf(window))
      return { window, rows: shown, total: size + 1, perPage: window.size, beyondEnd: startOf(window) > size }
    }
    for (const parallel of [1, 4]) {
      const { certificate } = scanOf(twice, { size, pageSize, parallel, order: 'created asc, id asc' })
      expect(certificate).toMatchObject({ proof: 'unproven', stoppedAt: undefined, distinct: size })
    }
  },
)

test.each([
  ['every other answer', (answered: number) => answered % 2 === 0],
  ['every answer but the last ones', (answered: number) => answered < 20],
  ['every answer', () => true],
])('a list of small pages whose total is missing in %s is read to its end', (_, isMissing) => {
  const serve: Serve = (list, window, answered) => ({
    ...list.answer(window),
    ...(isMissing(answered) && { total: undefined }),
  })
  expect(scanOf(serve, { size: 120, order: 'name', pageSize: 5, parallel: 2 }).lost).toBe(0)
})

test('without a total, 5,000 customers are read, and no limit of requests ends the scan', () => {
  const { certificate, lost, requests } = scanOf(countless, { size: 5000, order: 'name', parallel: 2 })
  expect({ lost, ...certificate }).toMatchObject({ lost: 0, proof: 'unproven', stoppedAt: undefined })
  expect(requests).toBeLessThan(85)
})

test('the ends that are read once more are asked for in another size where a cache holds them', () => {
  const seen = new Set<string>()
  const cached: Serve = (list, { page, size }) => {
    const key = `${page}/${size}`
    if (seen.has(key)) return 'cached-answer'
    seen.add(key)
    return list.answer({ page, size })
  }
  const { certificate, lost } = scanOf(cached, { between: (list) => (list.insert(), list.delete()) })
  expect({ lost, ...certificate }).toMatchObject({ lost: 0, proof: 'proven', basis: 'witness' })
  expect(seen).toContain('1/99')
})

test('whatever a cache holds, no proof lacks a customer who was listed throughout', () => {
  let proven = 0
  const scans = seeds(200, { every: 4 })
  for (let seed = 1; seed <= scans; seed += 1) {
    const luck = dice(seed)
    const share = luck.next() * 0.4
    const { certificate, lost } = scanOf(
      (list, window) => (luck.chance(share) ? 'cached-answer' : list.answer(window)),
      {
        ...{ size: luck.below(1500), seed, parallel: 4 },
        between: (list) => (list.insert(), list.delete()),
      },
    )
    if (certificate.proof === 'proven') proven += 1
    if (certificate.proof !== 'unproven') expect({ seed, lost }).toEqual({ seed, lost: 0 })
  }
  expect(proven).toBeGreaterThan(scans / 4)
})

const CAPS: [string, number, Serve][] = [
  ['shows 1,000 customers', 1000, upTo(1000, (_, shown) => shown, 1000)],
  ['shows 10,000 customers', 10_000, upTo(10_000, (_, shown) => shown, 10_000)],
  [
    'shows 1,000 customers and 404 behind them',
    1000,
    upTo(1000, (window, shown) => (startOf(window) < 1000 ? shown : notFound(window)), 1000),
  ],
  ['shows 1,000 customers and errors behind them', 1000, upTo(1000, () => 'hole', 1000)],
  ['shows all, but counts only 1,000', 1500, (list, window) => ({ ...list.answer(window), total: 1000 })],
]

test.each(CAPS)('a service that %s and says that these are all is believed nothing', (_, most, serve) => {
  for (const isPlain of [true, false]) {
    const night = scanOf(serve, {
      size: most > 1500 ? 10_500 : 1500,
      order: 'created asc, id asc',
      isPlain,
      parallel: 3,
    })
    expect(night.certificate).toMatchObject({ proof: 'unproven', stoppedAt: undefined })
    expect(night.certificate.reasons).toContain(isPlain ? 'plain-scan' : 'capped-total')
    expect(night.ids.size).toBe(most)
    expect(night.requests).toBeLessThan(most / 80 + 60)
  }
})

test.each(CAPS.slice(0, 1).flatMap(([, , serve]) => IMMUTABLE_ORDERS.map((order) => [order, serve] as const)))(
  'a list by %s of about 1,000 behind a cap is certified only where it is whole',
  (order, serve) => {
    for (let seed = 1; seed <= seeds(200); seed += 1) {
      const size = 985 + (seed % 30)
      const between = (list: SimulatedList) =>
        seed % 3 === 0 ? (list.insert(), seed % 2 === 0 && list.delete()) : undefined
      const { certificate, lost } = scanOf(serve, { size, order, seed, between, parallel: 1 + (seed % 4) })
      if (certificate.proof !== 'unproven') expect({ seed, lost }).toEqual({ seed, lost: 0 })
    }
  },
)

test.each([999, 1001, 2000, 9999])('a list of %d customers is not taken for a capped one', (size) => {
  expect(scanOf(honest, { size }).certificate.proof).toBe('proven')
})

test('a list of exactly a thousand customers that was longer during the scan is proven', () => {
  const between = (list: SimulatedList, _luck: unknown, answered: number) => answered === 5 && list.delete()
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

test('where pages of one row fail at first, none of no rows is asked for in their place', () => {
  const serve: Serve = (list, window, answered) => (answered < 2 ? 'cached-answer' : honest(list, window, answered))
  const { asked, certificate, lost } = scanOf(serve, { size: 3, pageSize: 1 })

  expect(new Set(asked.map(({ size }) => size))).toEqual(new Set([1]))
  expect({ whole: certificate.isWhole, lost }).toEqual({ whole: true, lost: 0 })
})
