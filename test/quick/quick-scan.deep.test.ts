import { expect, test } from 'vitest'
import { dice } from '../support/dice.ts'
import { QuickList, readQuickly, shuffle } from './quick-list.ts'

test('by name, five new and two gone among 100,000 customers are found in at most 100 requests where none cancel out', () => {
  const list = new QuickList(100_000)
  shuffle(list, dice(1))
  const before = [...list.rows]
  const gone = [80_123, 71_987].map((place) => list.delete(place))
  const inserted = [5, 1234, 22_222, 33_399, 41_000].map((place) => list.insert(place))

  const { read, requests, laterOrder, ...found } = readQuickly(list, before)

  expect(new Set(found.gone)).toEqual(new Set(gone))
  expect(inserted.filter((rowId) => !read.has(rowId))).toEqual([])
  expect(requests).toBeLessThanOrEqual(100)
  expect(found.certain).toEqual([])
  expect(laterOrder).toEqual(list.rows)
})
