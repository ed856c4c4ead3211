import { expect, test } from 'vitest'
import type { Row } from '../../src/model/customer.ts'
import { QuickScan, RequestBudget, type QuickScanOptions } from '../../src/quick/quick-scan.ts'
import { keyOf, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { type Dice, dice } from '../support/dice.ts'
import { drive, type Service } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'

/** The size of a list, the place of the record that was rejected, mostly at the end or the beginning of a page, its order, and how it is read. */
type Reading = Settings & { size: number; rejected: number; order?: string }
const READINGS: Record<string, Reading> = {
  '4,000 by creation, pages of 3, 60 requests': { size: 4000, rejected: 40, pageSize: 3, maxRequests: 60 },
  '2,500 by name, 30 requests': { size: 2500, rejected: 99, order: 'name', turn: 5, maxRequests: 30 },
  '2,500 newest first, 12 requests': { size: 2500, rejected: 2400, order: 'newest first', maxRequests: 12 },
  '1,550 by name, 20 requests in turn': { size: 1550, rejected: 1500, order: 'name', maxRequests: 20, parallel: 1 },
  '3,600 by creation, 7 requests': { size: 3600, rejected: 99, maxRequests: 7 },
  '300 by name, pages of 7 in turn': { size: 300, rejected: 7, order: 'name', pageSize: 7, parallel: 1, turn: 11 },
  '230 by creation, 9 requests': { size: 230, rejected: 120, maxRequests: 9 },
  '60 by name': { size: 60, rejected: 40, order: 'name' },
}

type Case = {
  /** What happens to the list before it is read, and between two answers; `pending` was not found at its place before. */
  change?: (list: QuickList, chance: Dice, pending: number[]) => void
  between?: (list: QuickList, budget: RequestBudget) => void
  answer?: (list: QuickList, window: Window, answered: number) => ReturnType<Service['answer']>
}
const at = (list: QuickList, share: number) => Math.floor(share * list.rows.length)
const come = (list: QuickList, count: number, share: number) =>
  Array.from({ length: count }, () => list.insert(at(list, share)))
const oneEach = (list: QuickList) => (list.delete(at(list, 0.72)), come(list, 1, 0.25))
const CASES: Record<string, Case> = {
  'two came and two left, far apart': {
    change: (list) => (come(list, 1, 0.3), come(list, 1, 0.6), list.delete(at(list, 0.9)), list.delete(0)),
  },
  'every third answer is from a cache': {
    answer: (list, window, answered) => (answered % 3 === 2 ? 'cached-answer' : list.answer(window)),
  },
  'no total, and a first page that lacks a row': {
    answer(list, window) {
      const { rows, ...answer } = list.answer(window)
      return { ...answer, rows: rows.filter((_, row) => window.page > 1 || row !== 5), total: undefined }
    },
  },
  'pages over fifty refused': { answer: (list, window) => (window.size > 50 ? 'size-refused' : list.answer(window)) },
  'all sizes but a hundred, fifty, ten and seven refused': {
    answer: (list, window) => ([100, 50, 10, 7].includes(window.size) ? list.answer(window) : 'size-refused'),
  },
  'one page cannot be read, nor any full page of another size': {
    answer(list, window) {
      const isOther = window.size % 100 > 3 && window.page * window.size < list.rows.length
      return isOther || window.page === Math.ceil(at(list, 0.251) / window.size) ? 'hole' : list.answer(window)
    },
  },
  'two records lost their ids': {
    change: (list) => (
      [0.8, 0.7, 0.2].forEach((share) => list.delete(at(list, share))),
      [0.3, 0.5].forEach((share) => list.rows.fill(-1, at(list, share), at(list, share) + 1))
    ),
  },
  'it grows by one in the middle with each answer': { between: (list) => come(list, 1, 0.5) },
  'sizes rounded down to a hundred, fifty or ten': {
    answer: (list, window) => list.answer(window, { cap: [100, 50, 10].find((size) => size <= window.size) ?? 1 }),
  },
  'a total that is too low': {
    answer: (list, window) => ({ ...list.answer(window), total: Math.ceil(list.rows.length / 2) }),
  },
  'each request is repeated': { between: (_, budget) => budget.take() },
  'a tenth left here and there': {
    change: (list, chance) => {
      for (let left = at(list, 0.1); left > 0; left -= 1) list.delete(chance.below(list.rows.length))
    },
  },
  'in another order altogether': { change: shuffle },
  'one missed before is back on page 1, and one where another left': {
    change: (list, _, pending) => (
      pending.push(...[5, at(list, 0.44)].map((row) => list.rows[row] ?? 0)),
      list.delete(at(list, 0.445))
    ),
  },
  'no row in the middle third': {
    answer(list, window) {
      const share = (window.size * window.page) / list.rows.length
      return { ...list.answer(window), ...(share > 0.4 && share < 0.7 && { rows: [] }) }
    },
  },
  'it grows by 130 with each answer': { between: (list) => come(list, 130, 1) },
  'one moved far': { change: (list) => list.rows.splice(at(list, 0.2), 0, list.delete(at(list, 0.7))) },
  'in fifths, the other way round': {
    change: (list) => {
      const fifth = Math.ceil(list.rows.length / 5)
      list.rows = [4, 3, 2, 1, 0].flatMap((part) => list.rows.slice(part * fifth, part * fifth + fifth))
    },
  },
  'all left': { change: (list) => void list.rows.splice(0) },
  'a total that is too high': { answer: (list, window) => ({ ...list.answer(window), total: list.rows.length + 350 }) },
  'no total from the second answer on': {
    answer: (list, window, answered) => ({ ...list.answer(window), ...(answered > 0 && { total: undefined }) }),
  },
  'one is listed twice on a page, and one far apart': {
    change: (list) => (
      list.rows.splice(at(list, 0.3) + 3, 0, list.rows[at(list, 0.3)] ?? 0),
      list.rows.splice(at(list, 0.8), 0, list.rows[at(list, 0.2)] ?? 0)
    ),
  },
  'much at once, and of eleven answers one is lost and one has no total': {
    change(list, chance, pending) {
      const somewhere = () => at(list, chance.next())
      const changes = [
        () => list.delete(somewhere()),
        () => list.insert(somewhere()),
        () => list.rows.splice(somewhere(), 0, list.delete(somewhere())),
        () => list.rows.splice(somewhere(), 0, list.rows[somewhere()] ?? 0),
        () => void (list.rows[somewhere()] = -1),
        () => pending.push(list.rows[somewhere()] ?? 0),
      ]
      for (let time = 0; time < 9; time += 1) chance.pick(changes)()
    },
    answer(list, window, answered) {
      if (answered % 11 === 3) return 'hole'
      return { ...list.answer(window), ...(answered % 11 === 5 && { total: undefined }) }
    },
  },
  'page 1 again from the third answer on': {
    answer: (list, window, answered) =>
      answered > 1 ? { ...list.answer({ ...window, page: 1 }), window } : list.answer(window),
  },
}

const HEAD = `# What quick scans find

Requests, \`…\` where more were needed, \`!\` where page 1 failed; \`-\` rows gone, and how many for certain; \`?\` rows that stay open, \`!\` where more may be; \`+\` new rows not read; \`t\` pages
trusted; \`~\` positions at which the order kept for the next time differs from the list. Written by the tests, with \`--update\`: read whether you meant it.
`

test('what a quick scan finds, whatever happened to the list and however the service answers, and what it costs', async () => {
  const orderOf = (reading: Reading) => aChangingList(dice(7), reading).list.rows.with(reading.rejected, 0)
  const readings = Object.values(READINGS).map((reading) => ({ ...reading, ordered: orderOf(reading) }))
  const lines = Object.entries(CASES).map(([name, { change = oneEach, between, answer }]) => {
    const said = new Set<string>()
    const cells = readings.map(({ size, ordered, maxRequests = 100, ...options }) => {
      const list = new QuickList(size)
      list.rows = [...ordered]
      const pending: number[] = []
      change(list, dice(size), pending)
      const before = ordered.filter((rowId) => !pending.includes(rowId))
      const budget = new RequestBudget(maxRequests)
      let answered = -1
      const service: Service = {
        between: () => between?.(list, budget),
        answer: (window) => answer?.(list, window, ++answered) ?? list.answer(window),
      }
      const found = readQuickly(list, before, { service, budget, pending, ...options })
      for (const reason of found.reasons) said.add(reason)
      const unread = list.rows.filter((rowId) => rowId > size && !found.read.has(rowId)).length
      const differing = found.laterOrder?.filter((rowId, index) => rowId !== list.rows[index]).length
      const end = found.stoppedAt ? '!' : found.reasons.includes('request-limit') ? '…' : ''
      const certain = found.gone.filter((rowId) => found.isCertain(rowOf(rowId)))
      const gone = `-${found.gone.length}/${certain.length} ?${found.pending.length}${found.isAnyUnmet ? '!' : ''}`
      return `${found.requests}${end} ${gone} +${unread} t${found.trustedPages} ${differing === undefined ? '' : `~${differing}`}`
    })
    return [name, ...cells, [...said].toSorted().join(', ')]
  })
  const head = ['', ...Object.keys(READINGS), 'reasons']
  const table = [head, head.map(() => '-'), ...lines].map((line) => `| ${line.join(' | ')} |`)
  await expect([HEAD, ...table, ''].join('\n')).toMatchFileSnapshot('quick-scans.md')
})

test('between two readings and during them, what came and what left is found or cancels out, and none who stayed is gone', () => {
  for (let seed = 1; seed <= seeds(10_000, { every: 250 }); seed += 1) {
    const chance = dice(seed)
    const { list, change } = aChangingList(chance)
    const before = [...list.rows]
    change(chance.below(12))
    const atStart = new Set(list.rows)
    const rate = chance.chance(0.5) ? 0 : chance.next() / 2
    const cap = chance.chance(0.3) ? 7 + chance.below(94) : 100
    const maxRequests = chance.chance(0.3) ? 3 + chance.below(20) : 1000
    const service: Service = {
      between: () => chance.chance(rate) && change(1),
      answer: (window) => list.answer(window, { cap }),
    }
    const options = { maxRequests, turn: chance.below(1000), parallel: 1 + chance.below(6), chance }

    const { gone, laterOrder, requests, read, reasons, ...found } = readQuickly(list, before, { service, ...options })

    const listed = new Set(list.rows)
    const wrong = gone.filter((rowId) => (atStart.has(rowId) && listed.has(rowId)) || !before.includes(rowId))
    expect({ seed, wrong, isTooMuch: requests > maxRequests }).toEqual({ seed, wrong: [], isTooMuch: false })
    expect(new Set(laterOrder).size, `seed ${seed}`).toBe(laterOrder?.length ?? 0)
    const again = readQuickly(list, laterOrder ?? before, { pending: found.pending, turn: seed })
    expect({ seed, wrong: again.gone.filter((rowId) => listed.has(rowId)) }).toEqual({ seed, wrong: [] })
    if (rate > 0 || found.isAnyUnmet || reasons.includes('request-limit')) continue
    const unseen = list.rows.filter((rowId) => !before.includes(rowId) && !read.has(rowId))
    const unnoticed = before.filter((rowId) => !listed.has(rowId) && !gone.includes(rowId))
    expect(unseen.length, `seed ${seed}`).toBe(unnoticed.length)
    if (unseen.length === 0) expect(laterOrder, `seed ${seed}`).toEqual(list.rows)
  }
})

/** A list in some order, and what may happen to it. */
function aChangingList(chance: Dice, told?: Reading) {
  const order = told ? told.order : chance.pick(['creation', 'newest first', 'name'])
  const list = new QuickList(told?.size ?? chance.below(chance.chance(0.2) ? 12 : 1500))
  if (order === 'newest first') list.rows.reverse()
  if (order === 'name') shuffle(list, chance)
  const change = (times: number) => {
    for (let time = 0; time < times; time += 1) {
      const length = list.rows.length
      if (chance.chance(0.5))
        list.insert(order === 'name' ? chance.below(length + 1) : order === 'creation' ? length : 0)
      else if (length > 0) list.delete(chance.below(length))
    }
  }
  return { list, change }
}

/** A list of row numbers. Rows with greater numbers were created later, and ids are in no order. */
class QuickList {
  rows: number[]
  #made: number

  constructor(size: number) {
    this.rows = Array.from({ length: size }, (_, index) => index + 1)
    this.#made = size
  }

  insert(place: number): void {
    this.#made += 1
    this.rows.splice(place, 0, this.#made)
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

/** 0 is a rejected record, and -1 one without an id. */
function rowOf(rowId: number): Row {
  if (rowId < 1) return { id: rowId === 0 ? 'rejected' : undefined, createdAt: undefined }
  const id = (Math.imul(rowId, 0x9e37_79b1) >>> 0).toString(16).padStart(32, '0')
  return { id, createdAt: new Date(1_600_000_000_000 + rowId * 1000).toISOString(), rowId }
}

/** The order of a list by name: its rows stand in no order that can be seen. */
function shuffle(list: QuickList, chance: Dice): void {
  const places = new Map(list.rows.map((rowId) => [rowId, chance.next()]))
  list.rows.sort((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0))
}

type Settings = Partial<QuickScanOptions & { service: Service; maxRequests: number; parallel: number; chance: Dice }>

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
  const { reasons, requests, distinct, stoppedAt } = scan.certificate()
  expect({ requests, distinct }).toEqual({ requests: ride.requests, distinct: ride.ids.size })
  return { ...scan.conclusion(), reasons, requests, stoppedAt, read }
}
