import { expect, test } from 'vitest'
import { binaryArray } from '../../../src/store/port/postgres-connections.ts'
import { Texts } from '../../../src/store/port/postgres-session.ts'

test('it takes no more memory than its values', () => {
  const values = Array.from({ length: 6400 }, (_, place) => `customer-${place}@example.com`)
  const bytes = binaryArray(new Texts(values))

  expect(bytes.length).toBe(20 + values.reduce((sum, { length }) => sum + 4 + length, 0))
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})
