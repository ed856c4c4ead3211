import { expect, test } from 'vitest'
import { played, lostAndRepeated } from './a-sandbox.ts'
import { expectInOrder } from '../support/in-order.ts'

test('insert: a list left open does not grow for ever', async () => {
  const { hand, get } = await played('insert', { customers: 2 })
  for (let request = 1; request <= 220; request += 1) await get(1)
  expect(hand.customers).toHaveLength(104)
})

test('without a scenario, and with still, the list is as generated and stays so', async () => {
  for (const scenario of [undefined, 'still']) {
    const { acme, readAll, truth } = await played(scenario)
    const mark = truth.mark()
    expect(await readAll()).toEqual(acme.customers.map(({ id }) => id))
    expect(await readAll(15)).toEqual(acme.customers.map(({ id }) => id))
    expect(truth.lived(mark).size).toBe(1000)
    expect(truth.everDeleted().size).toBe(0)
  }
})

test('delete: customers leave at every second request until half are gone, and a page loop loses others', async () => {
  const { hand, get, readAll, truth } = await played('delete')
  const mark = truth.mark()
  const ids = await readAll()
  expect(truth.everDeleted().size).toBe(5)
  expect(lostAndRepeated(ids, truth.lived(mark)).lost).toBeGreaterThan(0)
  const small = await played('delete', { customers: 10 })
  for (let request = 1; request <= 30; request += 1) await small.get(1)
  expect(small.hand.customers).toHaveLength(5)
  expect((await get(1)).ids).toEqual(hand.customers.slice(0, 100).map(({ id }) => id))
})

test('by-name-churn: the order is by name, which dates do not show', async () => {
  const { hand, readAll } = await played('by-name-churn')
  await readAll()
  expectInOrder(hand.customers.map(({ name }) => name))
  const dates = hand.customers.map(({ created_at }) => created_at)
  expect(dates).not.toEqual(dates.toSorted())
})

test('count-lies: five read customers leave, five come at the end, and the total stays the same', async () => {
  const { acme, readAll, truth, hand } = await played('count-lies')
  const mark = truth.mark()
  const ids = await readAll()
  expect(ids).toHaveLength(1000)
  expect(lostAndRepeated(ids, truth.lived(mark))).toEqual({ lost: 5, again: 0 })
  expect(truth.everDeleted().isSubsetOf(new Set(acme.customers.slice(0, 300).map(({ id }) => id)))).toBe(true)
  const known = new Set(acme.customers.map(({ id }) => id))
  expect(hand.customers.slice(-5).every(({ id }) => !known.has(id))).toBe(true)
  expect(await readAll()).toEqual(hand.customers.map(({ id }) => id))
})
