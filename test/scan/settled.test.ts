import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import { seamBetween } from '../../src/scan/seam.ts'
import { readOf, type ReadWindow, type Window, type WindowAnswer } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'
import { type ListOptions, SimulatedList } from '../support/simulated-list.ts'

/** Reads a list in which something happens just before each answer, which are counted from 1. */
function readWhile(
  options: ListOptions,
  before: (list: SimulatedList, answer: number) => void,
  { parallel = 1 }: { parallel?: number } = {},
) {
  const luck = dice(1)
  const list = new SimulatedList(luck, options)
  const plain = Math.ceil(list.size / 100)
  const scan = new ListScan()
  let answers = 0
  const service = { answer: list.answer.bind(list), between: () => before(list, (answers += 1)) }
  const { ids, requests } = drive(scan, service, { dice: luck, parallel })
  const lostInPlace = list.stayed().filter((id) => !ids.has(id)).length
  return { certificate: scan.certificate(), requests, costs: requests / plain, lostInPlace }
}

/** A window that lists these rows from position `start`, the `turn`-th that was read. */
function windowOf(rows: string, start: number, turn: number, total = 100): ReadWindow {
  const window = { page: start + 1, size: 1 }
  const answer = { window, rows: Array.from(rows, (id) => ({ id, createdAt: undefined })), total, perPage: 1 }
  return { ...readOf({ ...answer, beyondEnd: false }, turn), window: { page: 1, size: 12 } }
}

test.each([
  ['two rows in the same order', 'abcdefghij', 'ijklmnopqr', 8, true],
  ['one row', 'abcdefghij', 'jklmnopqrs', 9, false],
  ['none', 'abcdefghij', 'klmnopqrst', 10, false],
  ['two rows that changed places', 'abcdefghij', 'jiklmnopqr', 8, false],
  ['two rows, and one new between them', 'abcdefghij', 'iXjklmnopq', 8, true],
  [
    'two rows that moved together from inside one window to the inside of the other',
    'abcdefghij',
    'klmnobcpqr',
    5,
    false,
  ],
  ['a row that moved past two that did not', 'abcdefghij', 'ijklmnoapq', 8, false],
  ['none, at the beginning of the list', 'abcdefghij', 'klmnopqrst', 0, true],
] as const)('neighbours that share %s: %s and %s from position %d on', (_, left, right, start, isTrue) => {
  expect(seamBetween(windowOf(left, 0, 0), windowOf(right, start, 1)).firm).toBe(isTrue)
})

test.each([
  ['22 customers left above them', 78, true],
  ['one customer came', 101, false],
] as const)(
  'two rows, further up in a window that was read later, are firm only if %s meanwhile',
  (_, total, isTrue) => {
    const right = windowOf('mnopqrstuvab', 24, 0)
    const left = windowOf('abcdefghijkl', 12, 1, total)
    expect(seamBetween(left, right).firm).toBe(isTrue)
  },
)

test.each([
  ['5 inserts and a rename', 5, 0, 1],
  ['5 deletions and a rename', 0, 5, 1],
  ['3 inserts, 3 deletions and 3 renames', 3, 3, 3],
])('by name, with %s at every request: settled in at most 1.4 times the plain requests', (...[, ...rates]) => {
  const [inserts, deletions, renames] = rates
  const { certificate, costs, lostInPlace } = readWhile({ size: 8000, order: 'name' }, (list) => {
    for (let made = 0; made < inserts; made += 1) list.insert()
    for (let gone = 0; gone < deletions; gone += 1) list.delete()
    for (let moved = 0; moved < renames; moved += 1) list.move()
  })
  expect(certificate).toMatchObject({ proof: 'settled', reasons: ['no-witness'] })
  expect(lostInPlace).toBe(0)
  expect(costs).toBeLessThanOrEqual(1.4)
})

test.each([1, 20, 90, 150])(
  'by name, %d rows that are deleted at once, and as many inserted, are repaired again and again',
  (many) => {
    const { certificate, lostInPlace } = readWhile({ size: 2000, order: 'name' }, (list, answer) => {
      if (answer % 5 === 3) list.delete(many, Math.min(190, list.size - many))
      else if (answer % 5 === 0) for (let made = 0; made < many; made += 1) list.insert()
    })
    expect({ proof: certificate.proof, lostInPlace }).toEqual({ proof: 'settled', lostInPlace: 0 })
  },
)

test('a service that repeats rows in place of others settles nothing, although its neighbours share rows in order', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 900, order: 'name' })
  const answer = (window: Window): WindowAnswer => {
    const whole = list.answer({ page: 1, size: 900 + 100 })
    const rows = [...whole.rows]
    // The rows from position 600 on are those from position 200 on.
    rows.splice(600, 30, ...rows.slice(200, 230))
    const from = window.size * (window.page - 1)
    return { ...whole, window, rows: rows.slice(from, from + window.size), perPage: window.size }
  }
  for (const between of [() => {}, () => luck.chance(0.3) && list.delete(1, list.size - 1)]) {
    const scan = new ListScan()
    drive(scan, { answer, between }, { dice: luck })
    expect(scan.certificate().proof).toBe('unproven')
  }
})

test('a list in another order at every answer settles never, however often it is read', () => {
  for (let seed = 1; seed <= seeds(20, { least: 6 }); seed += 1) {
    const luck = dice(seed)
    const list = new SimulatedList(luck, { size: 150 + luck.below(900), order: 'shuffled' })
    const between = () => luck.chance(0.3) && list.insert()
    const scan = new ListScan()
    drive(scan, { answer: list.answer.bind(list), between }, { dice: luck, parallel: 3 })
    expect({ seed, proof: scan.certificate().proof }).not.toEqual({ seed, proof: 'settled' })
  }
})

test('equal pages settle never', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 900, order: 'name' })
  const answer = (window: Window) => (window.size === 100 ? list.answer(window) : 'size-refused')
  const scan = new ListScan()
  drive(scan, { answer, between: () => list.insert() }, { dice: luck })
  expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: expect.arrayContaining(['no-overlap']) })
})
