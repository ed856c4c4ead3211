import { expect, test } from 'vitest'
import { keyOf, type Window } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import type { Service } from '../support/drive-scan.ts'
import { QuickList, readQuickly, shuffle } from '../support/quick-list.ts'
import { someOf } from '../support/seeds.ts'

test('in order of creation five new and two gone among 100,000 customers are found in at most 40 requests', () => {
  const pairs = [
    [7, 55_555],
    [3, 99_998],
    [49_999, 50_000],
    [63_999, 64_098],
    [199, 200],
  ]
  for (const [turn, places] of someOf(pairs, { every: 5 }).entries()) {
    const list = new QuickList(100_000)
    const before = [...list.rows]
    const gone = places.toSorted((one, other) => other - one).map((place) => list.delete(place))
    const inserted = Array.from({ length: 5 }, () => list.insert())

    const { read, requests, trustedPages, ...found } = readQuickly(list, before, { turn })

    expect(new Set(found.gone)).toEqual(new Set(gone))
    expect(inserted.filter((rowId) => !read.has(rowId))).toEqual([])
    expect(requests).toBeLessThanOrEqual(40)
    expect(found.reasons).toEqual(['quick'])
    expect(found.certain).toEqual(found.gone)
    expect(trustedPages).toBeGreaterThan(950)
    expect(found.laterOrder).toEqual(list.rows)
  }
})

test('in order of creation, a customer missing from an earlier scan is searched for: it may have returned where another one left', () => {
  const list = new QuickList(100_000)
  const back = list.rows[44_444] ?? 0
  const before = list.rows.filter((rowId) => rowId !== back)
  const left = list.delete(44_450)

  const { gone, certain, read } = readQuickly(list, before, { pending: [back] })

  expect([read.has(back), read.has(left)]).toEqual([false, false])
  expect(gone).toEqual([back])
  expect(certain).toEqual([])
})

test('by name while it is unknown where a customer went, the customer is pending; the next scan takes it up', () => {
  const list = new QuickList(20_000)
  shuffle(list, dice(2))
  const before = [...list.rows]
  const gone = [15_000, 5000, 100].map((place) => list.delete(place))

  const first = readQuickly(list, before, { maxRequests: 20 })
  const second = readQuickly(list, first.laterOrder ?? [], { pending: first.pending })

  expect(first.reasons).toEqual(['quick', 'request-limit'])
  expect(first.gone).toEqual([])
  expect(first.pending).not.toEqual([])
  expect(second.reasons).toEqual(['quick'])
  expect(new Set(second.gone)).toEqual(new Set(gone))
})

test.each<[string, (list: QuickList, window: Window) => ReturnType<Service['answer']>]>([
  ['refuses pages over fifty', (list, window) => (window.size > 50 ? 'size-refused' : list.answer(window))],
  [
    'refuses all sizes but a hundred and fifty',
    (list, window) => ([100, 50].includes(window.size) ? list.answer(window) : 'size-refused'),
  ],
  [
    'rounds sizes down to a hundred, fifty or ten',
    (list, window) => list.answer(window, { cap: [100, 50, 10].find((size) => size <= window.size) ?? 1 }),
  ],
])('services that answer oddly a service that %s is read in sizes that it serves', (_what, answer) => {
  const list = new QuickList(5000)
  shuffle(list, dice(2))
  const before = [...list.rows]
  const gone = [list.delete(3333)]
  list.insert(1234)

  const found = readQuickly(list, before, { service: { answer: (window) => answer(list, window) } })

  expect(found).toMatchObject({ gone, laterOrder: list.rows, reasons: ['quick', 'size-refused'] })
  expect(found.requests).toBeLessThanOrEqual(30)
})

test('services that answer oddly without a total, no row is gone: the first page may be short because a row was left out of it', () => {
  const list = new QuickList(1000)

  const { gone, pending } = readQuickly(list, list.rows, {
    service: {
      answer(window) {
        const { rows, ...answer } = list.answer(window)
        return { ...answer, rows: rows.filter((_, place) => window.page > 1 || place !== 50), total: undefined }
      },
    },
  })

  expect(gone).toEqual([])
  expect(pending).toContain(51)
})

test('services that answer oddly a record without an id may be the customer who is not found at that place, and at no other', () => {
  const list = new QuickList(300)
  const before = [...list.rows]
  const gone = [list.delete(200)]
  const service: Service = {
    answer(window) {
      const answer = list.answer(window)
      const rows = answer.rows.map((row) => (keyOf(row) === 151 ? { id: undefined, createdAt: undefined } : row))
      return { ...answer, rows }
    },
  }

  expect(readQuickly(list, before, { service })).toMatchObject({ gone, pending: [] })
})

test('services that answer oddly pages that cannot be read leave what they may hold pending', () => {
  const list = new QuickList(20_000)
  shuffle(list, dice(4))
  const before = [...list.rows]
  list.delete(15_000)
  list.insert(5000)
  const service: Service = {
    answer: (window) => {
      const answer = list.answer(window)
      return answer.rows.some((row) => keyOf(row) === 20_001) ? 'cached-answer' : answer
    },
  }

  const { gone, pending, reasons } = readQuickly(list, before, { service })

  expect({ gone, pending: pending.length }).toEqual({ gone: [], pending: 1 })
  expect(reasons).toEqual(['quick', 'cached-answer'])
})

test('by name, five new and two gone among 100,000 customers are found in at most 100 requests where none cancel out', () => {
  const list = new QuickList(100_000)
  shuffle(list, dice(1))
  const before = [...list.rows]
  const gone = [80_123, 71_987].map((place) => list.delete(place))
  const inserted = [5, 1234, 22_222, 33_399, 41_000].map((place) => list.insert(place))

  const { read, requests, laterOrder, ...found } = readQuickly(list, before)

  expect(new Set(found.gone)).toEqual(new Set(gone))
  expect(inserted.filter((rowId) => !read.has(rowId))).toEqual([])
  expect(requests).toBeLessThanOrEqual(100)
  expect(found.certain).toEqual([])
  expect(laterOrder).toEqual(list.rows)
})
