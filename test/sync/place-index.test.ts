import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlaceIndex } from '../../src/sync/place-index.ts'

test('every value is found at the first place it was added from, and no other value is found', () => {
  // Few different lower bits, so that values meet in the same slots.
  const value = fc.tuple(fc.nat(3), fc.nat(2 ** 20)).map(([low, high]) => high * 2 ** 33 + low)
  fc.assert(
    fc.property(fc.array(value, { maxLength: 200 }), value, (values, other) => {
      const index = PlaceIndex.over(Float64Array.from(values))
      for (const wanted of [...values, other]) {
        expect(index.find(wanted)).toBe(wanted === 0 ? -1 : values.indexOf(wanted))
      }
    }),
  )
})

test('a place is found once it was added, by the value it holds then', () => {
  const rowIds = new Uint32Array(4)
  const index = new PlaceIndex(rowIds)
  rowIds[2] = 4_294_967_295

  expect(index.find(4_294_967_295)).toBe(-1)
  index.add(2)
  expect(index.find(4_294_967_295)).toBe(2)
  expect(index.find(0)).toBe(-1)
})
