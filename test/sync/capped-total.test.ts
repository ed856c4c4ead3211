import { expect, test } from 'vitest'
import { cappedTotal, judgeCut } from '../../src/sync/read-list.ts'
import { NO_PROOF, type Certificate } from '../../src/scan/scan.ts'

const listOf = (...rowIds: number[]) => ({ columns: { rowIds: Uint32Array.from(rowIds) } })
const BEFORE = { ...listOf(5, 4, 3, 2, 1), total: 5 }

test.each([
  ['customers came, and as many fell off the end', 5, [7, 6, 5, 4, 3], 2, 5],
  ['one came and an update moved another: the end is the same', 5, [6, 4, 5, 3, 2], 1, 5],
  ['nobody came', 5, [5, 4, 3, 2], 0, undefined],
  ['the total grew', 7, [7, 6, 5, 4, 3, 2, 1], 2, undefined],
  ['one in the middle left', 5, [6, 5, 4, 2, 1], 1, undefined],
  ['the last one left, and the new one stands at the end', 5, [5, 4, 3, 2, 6], 1, undefined],
  ['without a total', undefined, [7, 6, 5, 4, 3], 2, undefined],
])('a total of five on both nights: %s', (_, total, rowIds, inserted, capped) => {
  const received = { seen: new Set(rowIds), records: { inserted } }

  expect(cappedTotal(total, { before: BEFORE, after: listOf(...rowIds) }, received)).toBe(capped)
})

test('a limit that was found stays one until the total is another', () => {
  const before = { ...BEFORE, cappedAt: 5 }
  const received = { seen: new Set([5, 4, 3, 2, 1]), records: { inserted: 0 } }

  expect(cappedTotal(5, { before, after: BEFORE }, received)).toBe(5)
  expect(cappedTotal(6, { before, after: BEFORE }, received)).toBeUndefined()
})

test('a list that is cut off is unproven, and not whole, whatever its scan has proven', () => {
  const proven: Certificate = {
    ...{ ...NO_PROOF, proof: 'proven', reasons: [], requests: 1, distinct: 5, total: 5, pageSize: 100 },
    ...{ isWhole: true, stoppedAt: undefined, holes: [] },
  }

  expect(judgeCut(proven, 5)).toMatchObject({ proof: 'unproven', reasons: ['capped-total'], isWhole: false })
  expect(judgeCut(proven, undefined)).toBe(proven)
})
