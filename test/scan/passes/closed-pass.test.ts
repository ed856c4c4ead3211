import { expect, test } from 'vitest'
import { chainScan } from '../../../src/scan/chain-scan.ts'
import { endOf, type Window } from '../../../src/scan/window/window.ts'
import { dice } from '../../support/dice.ts'
import { drive } from '../../support/drive-scan.ts'
import { SimulatedList } from '../../support/simulated-list.ts'

test.each([
  ['are read again', { failure: undefined, proof: 'proven' }],
  ['cannot be read again', { failure: 'page-mismatch', proof: 'unproven' }],
] as const)('an order proves a list that grows if both its ends %s', (_, { failure, proof }) => {
  const luck = dice(1)
  const list = new SimulatedList(luck, { size: 600, order: 'created asc, id asc' })
  const scan = chainScan()
  let hasReachedEnd = false
  const answer = (window: Window) => {
    if (hasReachedEnd && failure !== undefined) return failure
    hasReachedEnd ||= endOf(window) > list.size
    return list.answer(window)
  }
  let answers = 0
  const between = () => {
    answers += 1
    if (answers === 3) list.insert()
  }
  drive(scan, { answer, between }, { dice: luck })

  expect(hasReachedEnd).toBe(true)
  expect(scan.certificate().proof).toBe(proof)
})
