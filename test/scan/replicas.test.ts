import { expect, test } from 'vitest'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Window, WindowAnswer } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { seeds } from '../support/seeds.ts'
import { IMMUTABLE_ORDERS, SimulatedList } from '../support/simulated-list.ts'

/** Every other answer comes from a database that lacks the newest customers, which stand at the end. */
function readFromTwo(lacking: number, { size = 950, parallel = 1 } = {}) {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size, order: 'created asc, id asc' })
  let answers = 0
  const answer = (window: Window): WindowAnswer => {
    const { rows, ...whole } = list.answer(window)
    answers += 1
    if (answers % 2 === 1) return { ...whole, rows }
    const left = Math.max(0, list.size - lacking - window.size * (window.page - 1))
    return { ...whole, rows: rows.slice(0, left), total: list.size - lacking }
  }
  const scan = new ListScan()
  const { ids } = drive(scan, { answer }, { dice: luck, parallel })
  return { ...scan.certificate(), lost: list.survivors().filter((id) => !ids.has(id)).length }
}

test.each([450, 950, 2030])('of %i customers, a database that lacks thirty costs the proof', (size) => {
  for (const parallel of [1, 4]) {
    expect(readFromTwo(30, { size, parallel })).toMatchObject({
      proof: 'unproven',
      reasons: expect.arrayContaining(['unequal-replicas']),
      lost: 0,
    })
  }
})

test.each([1, 4])(
  'a database that lacks three customers costs the proof of most scans, %i pages at once',
  (parallel) => {
    const sizes = Array.from({ length: 10 }, (_, index) => 950 + 100 * index)
    const found = sizes.filter((size) => readFromTwo(3, { size, parallel }).reasons.includes('unequal-replicas'))

    expect(found.length).toBeGreaterThan(7)
  },
)

test.each(IMMUTABLE_ORDERS)(
  '%s: a list that changes is not taken for two, however many pages are under way',
  (order) => {
    for (let seed = 1; seed <= seeds(60, { every: 5 }); seed += 1) {
      const luck = dice(seed)
      const list = new SimulatedList(luck, { size: 500 + luck.below(1000), order })
      const between = () => (luck.chance(0.5) ? undefined : luck.chance(0.5) ? list.insert() : list.delete())
      const scan = new ListScan()
      drive(scan, { answer: (window) => list.answer(window), between }, { dice: luck, parallel: 2 + luck.below(7) })
      expect({ seed, reasons: scan.certificate().reasons }).not.toMatchObject({
        reasons: expect.arrayContaining(['unequal-replicas']),
      })
    }
  },
)

test('totals that rise and fall in small steps are those of a list that changes', () => {
  const luck = dice(2)
  const list = new SimulatedList(luck, { size: 950, order: 'created asc, id asc' })
  const between = () => (luck.chance(0.5) ? list.insert() : list.delete(2))
  const scan = new ListScan()
  drive(scan, { answer: (window) => list.answer(window), between }, { dice: luck })

  expect(scan.certificate()).toMatchObject({ proof: 'proven', reasons: [] })
})
