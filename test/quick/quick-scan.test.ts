import { expect, test } from 'vitest'
import type { Row } from '../../src/model/customer.ts'
import { QuickScan, RequestBudget, type QuickScanOptions } from '../../src/quick/quick-scan.ts'
import { keyOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { type Dice, dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { seeds, someOf } from '../support/seeds.ts'

const FAR_APART = [
  [7, 55_555],
  [3, 99_998],
  [49_999, 50_000],
  [63_999, 64_098],
  [199, 200],
]

test.each<[order: string, gone: readonly number[][], added: readonly (number | undefined)[], most: number]>([
  ['in order of creation', someOf(FAR_APART, { every: 5 }), Array.from({ length: 5 }, () => undefined), 40],
  ['by name, where two cancel out', [[63_000, 71_987, 80_123]], [5, 1234, 22_222, 33_399, 41_000, 66_000], 110],
])('%s, new and gone customers among 100,000 are found in few requests', (order, pairs, added, most) => {
  for (const [turn, places] of pairs.entries()) {
    const list = new QuickList(100_000)
    if (order.startsWith('by name')) shuffle(list, dice(1))
    const before = [...list.rows]
    const gone = places.toReversed().map((place) => list.delete(place))
    const inserted = added.map((place) => list.insert(place))
    if (order.startsWith('by name')) for (const to of [90_000, 20_000]) list.rows.splice(to, 0, list.delete(55_000))

    const { read, requests, trustedPages, laterOrder, ...found } = readQuickly(list, before, { turn, maxRequests: 110 })
    expect(new Set(found.gone)).toEqual(new Set(gone))
    expect(inserted.filter((rowId) => !read.has(rowId))).toEqual([])
    expect(requests).toBeLessThanOrEqual(most)
    expect(trustedPages).toBeGreaterThan(900)
    expect(found).toMatchObject({ reasons: ['quick'], certain: order.startsWith('by name') ? [] : found.gone })
    expect(laterOrder).toEqual(list.rows)
  }
})

test('a scan asks for no more than it needs, or than others leave it, and rather finds some changes than narrows all down', () => {
  const [short, list] = [new QuickList(150), new QuickList(100_000)]
  const before = [...list.rows]
  // Its new place explains the old one.
  list.rows.splice(5, 0, list.delete(55_000))
  expect(readQuickly(list, before, { maxRequests: 12 })).toMatchObject({ reasons: ['quick'], laterOrder: list.rows })
  list.rows = [...before]
  for (let gone = 0; gone < 16; gone += 1) list.delete(6000 * gone + 3000)
  const budget = new RequestBudget(60)
  const between = () => [1, 2, 3, 4, 5].every(() => budget.take())
  const service = { between, answer: (window: Window) => list.answer(window) }

  expect(readQuickly(short, short.rows, { maxRequests: 2 }).reasons).toEqual(['quick'])
  const found = readQuickly(list, before, { maxRequests: 60 })
  expect(found.pending.length).toBeGreaterThan(4)
  expect(readQuickly(list, before, { budget, service, parallel: 1 })).toMatchObject({
    reasons: found.reasons,
    requests: 10,
  })
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
      const rows = answer.rows.map((row) => (keyOf(row) === 171 ? { id: undefined, createdAt: undefined } : row))
      return { ...answer, rows }
    },
  }

  const laterOrder = list.rows.map((rowId) => (rowId === 171 ? 0 : rowId))
  expect(readQuickly(list, before, { service })).toMatchObject({ gone, pending: [], laterOrder })
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

test('between two readings and during them, what came and what left is found or cancels out, and none who stayed is gone', () => {
  const lists = seeds(10_000, { every: 160 })
  let hidden = 0
  for (let seed = 1; seed <= lists; seed += 1) {
    const chance = dice(seed)
    const { list, order, change } = aChangingList(chance)
    const before = [...list.rows]
    change(chance.below(12))
    const atStart = new Set(list.rows)
    const rate = chance.chance(0.5) ? 0 : chance.next() / 2
    const [cap, isFixed] = [chance.chance(0.3) ? 7 + chance.below(94) : 100, chance.chance(0.2)]
    const maxRequests = chance.chance(0.3) ? 3 + chance.below(20) : 1000
    const service: Service = {
      between: () => chance.chance(rate) && change(1),
      answer: (window) =>
        isFixed && window.size !== 100 ? 'size-refused' : list.answer(window, { cap: isFixed ? 100 : cap }),
    }
    const options = { maxRequests, turn: chance.below(1000), parallel: 1 + chance.below(6), chance }

    const { gone, laterOrder, requests, read, reasons, ...found } = readQuickly(list, before, { service, ...options })

    const listed = new Set(list.rows)
    const wrong = gone.filter((rowId) => (atStart.has(rowId) && listed.has(rowId)) || !before.includes(rowId))
    expect({ seed, wrong, isTooMuch: requests > maxRequests }).toEqual({ seed, wrong: [], isTooMuch: false })
    expect(new Set(laterOrder).size, `seed ${seed}`).toBe(laterOrder?.length ?? 0)
    if (rate > 0 || isFixed || found.isAnyUnmet || reasons.includes('request-limit')) continue
    const known = new Set(before)
    const unseen = list.rows.filter((rowId) => !known.has(rowId) && !read.has(rowId))
    const unnoticed = before.filter((rowId) => !listed.has(rowId) && !gone.includes(rowId))
    // What is not found cancels out.
    expect(unseen.length, `seed ${seed}`).toBe(unnoticed.length)
    if (order !== 'name' && unseen.length > 0) hidden += 1
    if (unseen.length === 0) expect(laterOrder, `seed ${seed}`).toEqual(list.rows)
  }
  expect(hidden).toBeLessThanOrEqual(lists / 1000)
})

test('scan after scan, the later order leads to the list as it is', () => {
  for (let seed = 1; seed <= seeds(1000, { every: 60 }); seed += 1) {
    const chance = dice(seed)
    const { list, order, insert, change } = aChangingList(chance)
    let [before, pending]: (readonly number[])[] = [[...list.rows], []]
    for (let turn = 0; turn < 5; turn += 1) {
      const isLast = turn === 4
      if (!isLast && order !== 'name') change(chance.below(6))
      else if (!isLast) for (let made = chance.below(4); made > 0; made -= 1) insert()
      const maxRequests = isLast ? 1000 : 12 + chance.below(40)
      const found = readQuickly(list, before ?? [], { pending: pending ?? [], maxRequests, turn, chance })
      expect(
        found.gone.filter((rowId) => list.rows.includes(rowId)),
        `seed ${seed}`,
      ).toEqual([])
      if (isLast) expect(found.laterOrder, `seed ${seed}`).toEqual(list.rows)
      before = found.laterOrder ?? before
      pending = found.pending
    }
  }
})

/** A list in some order, and what may happen to it. */
function aChangingList(chance: Dice) {
  const order = chance.pick(['creation', 'newest first', 'name'])
  const list = new QuickList(chance.below(chance.chance(0.2) ? 12 : 1500))
  if (order === 'newest first') list.rows.reverse()
  if (order === 'name') shuffle(list, chance)
  const insert = () => {
    if (order === 'name') list.insert(chance.below(list.rows.length + 1))
    else list.insert(order === 'creation' ? list.rows.length : 0)
  }
  const change = (times: number) => {
    for (let time = 0; time < times; time += 1) {
      if (chance.chance(0.5)) insert()
      else if (list.rows.length > 0) list.delete(chance.below(list.rows.length))
    }
  }
  return { list, order, insert, change }
}

/** A list of row numbers. Rows with greater numbers were created later, and ids are in no order. */
class QuickList {
  rows: number[]
  #made: number

  constructor(size: number) {
    this.rows = Array.from({ length: size }, (_, index) => index + 1)
    this.#made = size
  }

  /** Adds a new row, at the end or at a place. */
  insert(place = this.rows.length): number {
    this.#made += 1
    this.rows.splice(place, 0, this.#made)
    return this.#made
  }

  delete(place: number): number {
    return this.rows.splice(place, 1)[0] ?? 0
  }

  answer(window: Window, { cap = 100 } = {}): WindowAnswer {
    const size = Math.min(cap, window.size)
    const from = size * (window.page - 1)
    const rows = this.rows.slice(from, from + size).map((rowId) => rowOf(rowId))
    return { window, rows, total: this.rows.length, perPage: size, beyondEnd: rows.length === 0 && from > 0 }
  }
}

function rowOf(rowId: number): Row {
  const id = (Math.imul(rowId, 0x9e37_79b1) >>> 0).toString(16).padStart(32, '0')
  return { id, createdAt: new Date(1_600_000_000_000 + rowId * 1000).toISOString(), rowId }
}

/** The order of a list by name: its rows stand in no order that can be seen. */
function shuffle(list: QuickList, chance: Dice): void {
  const places = new Map(list.rows.map((rowId) => [rowId, chance.next()]))
  list.rows.sort((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0))
}

type Settings = Partial<QuickScanOptions> & {
  service?: Service
  maxRequests?: number
  parallel?: number
  chance?: Dice
}

/** Reads the list as a quick scan does, after it was expected in the order `before`. */
function readQuickly(
  list: QuickList,
  before: readonly number[],
  { service, maxRequests = 100, parallel = 4, chance = dice(7), ...options }: Settings = {},
) {
  const places = new Map(before.map((rowId, place) => [rowId, place]))
  const expected = { rowIds: before, placeOf: (rowId: number) => places.get(rowId) ?? -1 }
  const scan = new QuickScan({ expected, budget: new RequestBudget(maxRequests), ...options })
  const ride = drive(scan, service ?? { answer: (window) => list.answer(window) }, { dice: chance, parallel })
  const read = new Set(ride.reads.flatMap(({ rows }) => rows.map(keyOf)))
  const { reasons, requests } = scan.certificate()
  expect(requests).toBe(ride.requests)
  return { ...scan.conclusion(), reasons, requests, read }
}
