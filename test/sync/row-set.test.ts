import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { RowSet } from '../../src/model/row-set.ts'

/** Around the last row an int32 can name. */
const FAR = fc.integer({ min: 2 ** 31 - 40, max: 2 ** 31 - 1 })

test('holds exactly the added rows, and returns which were new', () => {
  const rows = fc.array(fc.oneof(fc.nat(40), fc.nat(3_000_000), FAR), { maxLength: 60 })
  fc.assert(
    fc.property(rows, fc.array(fc.nat(50)), (added, asked) => {
      const set = new RowSet()
      const model = new Set<number>()
      for (const row of added) {
        expect(set.add(row)).toBe(!model.has(row))
        model.add(row)
      }
      for (const row of [...asked, ...added, ...added.map((each) => each + 1)])
        expect(set.has(row)).toBe(model.has(row))
    }),
  )
})

test('adds another set, counts common rows once, and iterates over all rows', () => {
  const rows = fc.array(fc.oneof(fc.nat(40), fc.nat(3_000_000)), { maxLength: 60 })
  fc.assert(
    fc.property(rows, rows, (some, others) => {
      const [set, other] = [setOf(some), setOf(others)]

      set.addAll(other)

      const model = [...new Set([...some, ...others])].toSorted((one, two) => one - two)
      expect([...set]).toEqual(model)
      expect(set.size).toBe(model.length)
      expect(set.sum()).toBe(model.reduce((sum, row) => sum + row, 0))
      expect([...other]).toHaveLength(new Set(others).size)
    }),
  )
})

test('is empty after it is cleared', () => {
  const set = setOf([1, 9000])

  set.clear()

  expect([set.size, set.has(1), ...set]).toEqual([0, false])
  expect(set.add(1)).toBe(true)
})

function setOf(rows: readonly number[]): RowSet {
  const set = new RowSet()
  for (const row of rows) set.add(row)
  return set
}
