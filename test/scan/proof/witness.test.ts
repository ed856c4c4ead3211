import { expect, test } from 'vitest'
import { chainScan } from '../../../src/scan/chain-scan.ts'
import { dice } from '../../support/dice.ts'
import { drive } from '../../support/drive-scan.ts'
import { SimulatedList } from '../../support/simulated-list.ts'

test.each([
  ['that stay as they are prove the scan', 0, 'witness'],
  ['that change from answer to answer prove nothing, although every page is sorted by them', 1, undefined],
])('creation times %s', (_, seconds, basis) => {
  const luck = dice(3)
  const list = new SimulatedList(luck, { size: 700, order: 'created asc, id asc', perSecond: 3 })
  const scan = chainScan()
  let answers = 0

  drive(
    scan,
    { answer: (window) => later(list.answer(window), seconds * answers++), between: () => list.insert() },
    { dice: luck },
  )

  expect(scan.certificate().basis).toBe(basis)
})

/** The same answer with all creation times moved, so that its rows stand in the same order. */
function later(answer: ReturnType<SimulatedList['answer']>, seconds: number) {
  const moved = (createdAt: string | undefined) => new Date(Date.parse(createdAt ?? '') + 1000 * seconds).toISOString()
  return { ...answer, rows: answer.rows.map((row) => ({ ...row, createdAt: moved(row.createdAt) })) }
}
