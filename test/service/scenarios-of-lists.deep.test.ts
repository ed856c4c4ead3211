import { expect, test } from 'vitest'
import { played } from './a-sandbox.ts'

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
