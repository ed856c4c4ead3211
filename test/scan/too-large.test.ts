import { expect, test } from 'vitest'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Window } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { SimulatedList } from '../support/simulated-list.ts'

const MOST = 1000

/** A scan of a service whose rows have these sizes, and which cannot answer with more than a thousand. */
function scanOf(weigh: (position: number) => number, { rows = 950, parallel = 1, plain = false } = {}) {
  const luck = dice(5)
  const list = new SimulatedList(luck, { size: rows, order: 'id asc' })
  const scan = plain ? listScan({ isPlain: true }) : listScan()
  const service = {
    answer: (window: Window) => {
      const from = window.size * (window.page - 1)
      let weight = 0
      for (let at = from; at < Math.min(rows, from + window.size); at += 1) weight += weigh(at)
      return weight > MOST ? ('too-large' as const) : list.answer(window)
    },
  }
  const ride = drive(scan, service, { dice: luck, parallel })
  return { ...ride, certificate: scan.certificate(), missing: rows - ride.ids.size }
}

test.each([0, 99, 100, 417, 949])(
  'a row at %i that is too large by itself is a hole, and all others are read',
  (heavy) => {
    for (const parallel of [1, 4]) {
      const { certificate, missing } = scanOf((at) => (at === heavy ? MOST + 1 : 1), { parallel })
      expect(certificate).toMatchObject({ proof: 'unproven', holes: [{ position: heavy, size: 1 }] })
      expect(certificate.reasons).toContain('hole')
      expect(missing).toBe(1)
    }
  },
)

test.each([
  ['everywhere', () => 15],
  ['everywhere, so that only a few fit on a page', () => 90],
  ['at the beginning', (at: number) => (at < 100 ? 15 : 1)],
  ['in the middle', (at: number) => (at >= 400 && at < 500 ? 15 : 1)],
  ['at the end', (at: number) => (at >= 900 ? 25 : 1)],
])('rows that together are too large %s are read in smaller pages, and the list is proven', (_, weigh) => {
  for (const parallel of [1, 4]) {
    const { certificate, missing } = scanOf(weigh, { parallel })
    expect(missing).toBe(0)
    expect(certificate).toMatchObject({ proof: 'proven', reasons: [], holes: [] })
  }
})

test('a plain scan leaves out the row that is too large, and says so', () => {
  const { certificate, missing } = scanOf((at) => (at === 417 ? MOST + 1 : 1), { plain: true })
  expect(certificate).toMatchObject({ proof: 'unproven', reasons: ['plain-scan', 'hole'] })
  expect(missing).toBe(1)
})
