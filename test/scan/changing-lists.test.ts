import { expect, test } from 'vitest'
import { honest, scanOf } from '../support/scanned-services.ts'
import { seeds, someOf } from '../support/seeds.ts'
import { IMMUTABLE_ORDERS } from '../support/simulated-list.ts'

const SECONDS: [string, (serial: number) => number][] = [
  ['one row is dated into the future', (serial) => (serial === 291 ? 1e8 : serial)],
  ['creation times run twice', (serial) => (serial > 295 ? serial - 295 : serial)],
  [
    'creation times run twice, several rows a second',
    (serial) => Math.floor((serial > 295 ? serial - 295 : serial) / 3),
  ],
]

test.each(SECONDS)('where %s, a purge between two windows hides no customer behind a proof', (_, createdSecondOf) => {
  for (const gone of someOf(Array.from({ length: 60 }, (_row, index) => index + 1))) {
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
      for (let when = 1; when <= 5; when += 1) {
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

test('by last change: hundreds of new rows that stand before those known at the top are read before the list is proven', () => {
  const { certificate, requests, lost } = scanOf(honest, {
    ...{ size: 600, order: 'last change desc' },
    between: (list, _luck, answered) => {
      if (answered === 3) for (let made = 0; made < 2000; made += 1) list.insert()
    },
  })
  expect({ proof: certificate.proof, lost }).toEqual({ proof: 'proven', lost: 0 })
  expect(requests).toBeLessThan(100)
})

test('a list that only grows at its top is proven in few windows more', () => {
  const options = { size: 600, order: 'created desc, id asc' } as const
  const { certificate, requests } = scanOf(honest, { ...options, between: (list) => list.insert() })
  expect(certificate).toMatchObject({ proof: 'proven', basis: 'witness' })
  expect(requests).toBeLessThanOrEqual(10)
})

test.each(IMMUTABLE_ORDERS)(
  '%s: a list that changes is not taken for two, however many pages are under way',
  (order) => {
    for (let seed = 1; seed <= seeds(60, { every: 5 }); seed += 1) {
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

test.each([
  ['id asc', 'id asc'],
  ['id desc', 'id desc'],
  ['created desc, id asc', 'created_at desc'],
] as const)('a list in the order %s is proven by %s', (order, witness) => {
  expect(scanOf(honest, { order }).certificate).toMatchObject({ proof: 'proven', witness })
})

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
