import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { someOf } from '../support/seeds.ts'
import { type ListOptions, SimulatedList } from '../support/simulated-list.ts'

/** Reads a list in which something happens just before one of the answers, which are counted from 1. */
function readWhile(
  options: ListOptions,
  before: (answer: number, list: SimulatedList) => void,
  { parallel = 1 }: { parallel?: number } = {},
) {
  const luck = dice(1)
  const list = new SimulatedList(luck, options)
  const scan = new ListScan()
  let answers = 0
  const between = () => before((answers += 1), list)
  const { ids, requests } = drive(scan, { answer: list.answer.bind(list), between }, { dice: luck, parallel })
  return { certificate: scan.certificate(), requests, lost: list.survivors().filter((id) => !ids.has(id)).length }
}

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
    const { certificate, lost } = readWhile({ size: 700, order: 'serial', createdSecondOf }, (answer, list) => {
      if (answer === 4) list.delete(gone, 0)
    })
    expect({ gone, proof: certificate.proof, lost }).toEqual({ gone, proof: 'settled', lost: 0 })
  }
})

test.each([101, 150, 250, 450])(
  'by last change: an unread row that changes, and is pushed down by %d new ones, is read before anything is proven',
  (pushes) => {
    for (const order of ['last change desc', 'last change asc'] as const) {
      for (let when = 2; when <= 6; when += 1) {
        const { certificate, lost } = readWhile({ size: 600, order }, (answer, list) => {
          if (answer !== when) return
          list.move(order === 'last change desc' ? 590 : 10)
          for (let made = 0; made < pushes; made += 1) list.insert()
        })
        if (certificate.proof !== 'unproven') expect({ order, when, lost }).toEqual({ order, when, lost: 0 })
      }
    }
  },
)

test('by last change: hundreds of new rows that stand before those known at the top are read before the list is proven', () => {
  const { certificate, requests, lost } = readWhile({ size: 600, order: 'last change desc' }, (answer, list) => {
    if (answer === 4) for (let made = 0; made < 2000; made += 1) list.insert()
  })
  expect({ proof: certificate.proof, lost }).toEqual({ proof: 'proven', lost: 0 })
  expect(requests).toBeLessThan(100)
})

test('a list that only grows at its top is proven in few windows more', () => {
  const { certificate, requests } = readWhile({ size: 600, order: 'created desc, id asc' }, (_, list) => list.insert())
  expect(certificate).toMatchObject({ proof: 'proven', basis: 'witness' })
  expect(requests).toBeLessThanOrEqual(10)
})
