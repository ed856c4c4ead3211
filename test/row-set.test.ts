import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { RowSet } from '../src/row-set.ts'

test('holds exactly the rows it was given, and tells which were new', () => {
  const rows = fc.array(fc.oneof(fc.nat(40), fc.nat(3_000_000)), { maxLength: 60 })
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
