import { expect, test } from 'vitest'
import type { Reason } from '../../src/model/reasons.ts'
import { honest, scanOf, type ScanOptions, type Serve } from '../support/scanned-services.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { IMMUTABLE_ORDERS } from '../support/known-list.ts'
import { endOf, startOf, type WindowAnswer } from '../../src/scan/window.ts'

const twice = (serial: number) => (serial > 295 ? serial - 295 : serial)

test.each<[string, (serial: number) => number]>([
  ['one row is dated into the future', (serial) => (serial === 291 ? 1e8 : serial)],
  ['creation times run twice', twice],
  ['creation times run twice, several rows a second', (serial) => Math.floor(twice(serial) / 3)],
])('where %s, a purge between two windows hides no customer behind a proof', (_, createdSecondOf) => {
  for (const gone of someOf(
    Array.from({ length: 60 }, (_row, index) => index + 1),
    { every: 7 },
  )) {
    const { certificate, lost } = scanOf(honest, {
      ...{ size: 700, order: 'serial', createdSecondOf },
      between: (list, _luck, answered) => answered === 3 && list.delete(gone, 0),
    })
    expect({ gone, proof: certificate.proof, lost }).toEqual({ gone, proof: 'settled', lost: 0 })
  }
})

test.each([101, 150, 250, 450])(
  'by last change: an unread row that changes, and is pushed down by %d new ones, is read before anything is proven',
  (pushes) => {
    for (const order of ['last change desc', 'last change asc'] as const) {
      for (const when of someOf([1, 2, 3, 4, 5])) {
        const { certificate, lost } = scanOf(honest, {
          ...{ size: 600, order },
          between: (list, _luck, answered) => {
            if (answered !== when) return
            list.move(order === 'last change desc' ? 590 : 10)
            for (let made = 0; made < pushes; made += 1) list.insert()
          },
        })
        if (certificate.proof !== 'unproven') expect({ order, when, lost }).toEqual({ order, when, lost: 0 })
      }
    }
  },
)

test.each(IMMUTABLE_ORDERS)(
  '%s: a list that changes is not taken for two, however many pages are under way',
  (order) => {
    for (let seed = 1; seed <= seeds(60, { least: 5, every: 12 }); seed += 1) {
      const { certificate } = scanOf(honest, {
        ...{ size: 500 + ((seed * 379) % 1000), order, seed, parallel: 2 + (seed % 7) },
        between: (list, luck) => (luck.chance(0.5) ? undefined : luck.chance(0.5) ? list.insert() : list.delete()),
      })
      expect({ seed, reasons: certificate.reasons }).not.toMatchObject({
        reasons: expect.arrayContaining(['unequal-replicas']),
      })
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

test.each(
  someOf([
    ['5 inserts and a rename', 5, 0, 1],
    ['5 deletions and a rename', 0, 5, 1],
    ['3 inserts, 3 deletions and 3 renames', 3, 3, 3],
  ]),
)('by name, with %s at every request: settled in at most 1.4 times the plain requests', (...[, ...rates]) => {
  const [inserts, deletions, renames] = rates
  const { certificate, requests, lostInPlace } = scanOf(honest, {
    ...{ size: 8000, order: 'name' },
    between: (list) => {
      for (let made = 0; made < inserts; made += 1) list.insert()
      for (let gone = 0; gone < deletions; gone += 1) list.delete()
      for (let moved = 0; moved < renames; moved += 1) list.move()
    },
  })
  expect(certificate).toMatchObject({ proof: 'settled', reasons: ['no-witness'] })
  expect(lostInPlace).toBe(0)
  expect(requests / 80).toBeLessThanOrEqual(1.4)
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
  const between: ScanOptions['between'] = (list, luck) => luck.chance(share) && list.delete(1, list.size - 1)
  const { certificate } = scanOf(serve, { size: 900, order: 'name', between, ...(stopAfter && { stopAfter }) })
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
