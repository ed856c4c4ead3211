import { expect, test } from 'vitest'
import { LinkedOrder } from '../../src/sync/linked-order.ts'

test('entries that are added behind the last one stay in order', () => {
  const order = new LinkedOrder(3)
  order.addAfter()
  order.addAfter(0)
  order.addAfter()
  expect(order.isInOrder).toBe(true)
  expect([...order]).toEqual([0, 1, 2])
})

test('an entry is inserted behind or before another one, whatever was added until then', () => {
  const order = new LinkedOrder(7)
  for (let entry = 0; entry < 3; entry += 1) order.addAfter()
  order.addAfter(0)
  order.addBefore(0)
  order.addBefore(2)
  order.addAfter()
  expect(order.isInOrder).toBe(false)
  expect([...order]).toEqual([4, 0, 3, 1, 5, 2, 6])
})

test('an order whose first insertion is at its beginning', () => {
  const order = new LinkedOrder(2)
  order.addAfter()
  order.addBefore(0)
  expect([...order]).toEqual([1, 0])
})
