import { expect, test } from 'vitest'
import { played } from './a-sandbox.ts'

test('insert: a list left open does not grow for ever', async () => {
  const { hand, get } = await played('insert', { customers: 2 })
  for (let request = 1; request <= 220; request += 1) await get(1)
  expect(hand.customers).toHaveLength(104)
})
