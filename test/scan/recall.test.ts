import { expect, test } from 'vitest'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { startOf, type WindowRead } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { SimulatedList } from '../support/simulated-list.ts'

const byPosition = (a: WindowRead, b: WindowRead) => startOf(a.window) - startOf(b.window)

test('a scan stopped after any window goes on where it was, and is proven whatever happened meanwhile', () => {
  for (let seed = 1; seed <= 20; seed++) {
    for (let stopAfter = 1; stopAfter <= 12; stopAfter++) {
      const luck = dice(seed * 100 + stopAfter)
      const list = new SimulatedList(luck, { size: 1030, order: luck.chance(0.5) ? 'id asc' : 'created desc, id asc' })
      const service = { answer: list.answer.bind(list) }
      const first = drive(chainScan(), service, { dice: luck, parallel: 1 + luck.below(4), stopAfter })
      for (let gone = luck.below(200); gone > 0; gone--) list.delete()
      for (let come = luck.below(200); come > 0; come--) list.insert()

      const scan = chainScan({ recalled: first.reads.toSorted(byPosition) })
      const second = drive(scan, service, { dice: luck, parallel: 3 })
      expect({ seed, stopAfter, ...scan.certificate() }).toMatchObject({
        seed,
        stopAfter,
        proof: 'proven',
        reasons: [],
      })
      const read = new Set([...first.ids, ...second.ids])
      expect(list.survivors().filter((id) => !read.has(id))).toEqual([])
    }
  }
})

test('an undisturbed scan stopped after any window reads no window again', () => {
  for (let stopAfter = 1; stopAfter <= 12; stopAfter++) {
    const luck = dice(stopAfter)
    const list = new SimulatedList(luck, { size: 1030, order: 'name' })
    const service = { answer: list.answer.bind(list) }
    const first = drive(chainScan(), service, { dice: luck, stopAfter })
    const scan = chainScan({ recalled: first.reads.toSorted(byPosition) })
    const second = drive(scan, service, { dice: luck })
    expect(scan.certificate()).toMatchObject({ proof: 'proven', distinct: 1030 })
    const whole = drive(chainScan(), service, { dice: luck })
    expect(first.requests + second.requests).toBe(whole.requests)
  }
})

test('a scan that is not done is unproven, because interrupted', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 400, order: 'id asc' })
  const scan = chainScan()
  drive(scan, { answer: list.answer.bind(list) }, { dice: luck, stopAfter: 3 })
  expect(scan.certificate()).toMatchObject({ proof: 'unproven', reasons: ['interrupted'] })
})

test('an empty list is proven to be empty', () => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 0, order: 'id asc' })
  const scan = chainScan()
  drive(scan, { answer: list.answer.bind(list) }, { dice: luck })
  expect(scan.certificate()).toMatchObject({ proof: 'proven', basis: 'one-page', empty: true, requests: 1 })
})
