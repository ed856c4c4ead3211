import { describe, expect, test } from 'vitest'
import type { Window } from '../../src/scan/window.ts'
import { dice } from '../support/dice.ts'
import { QuickList, readQuickly, shuffle } from '../support/quick-list.ts'

describe('by name', () => {
  test('five new and two gone among 100,000 customers are found in at most 100 requests where none cancel out', () => {
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
})

describe('in other orders', () => {
  test.each([150, 259, 400])(
    'of %d in another order at every answer none is gone, though all pages are read',
    (size) => {
      const chance = dice(11)
      for (let turn = 0; turn < 20; turn += 1) {
        const list = new QuickList(size)
        const before = [...list.rows]
        const answer = (window: Window) => {
          shuffle(list, chance)
          return list.answer(window)
        }

        const { gone, read } = readQuickly(list, before, { turn, service: { answer }, pageSize: 20 })

        expect(gone).toEqual([])
        expect(read.size).toBeLessThan(size)
      }
    },
  )
})
