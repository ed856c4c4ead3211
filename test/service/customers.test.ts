import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateCustomers } from '../../src/service/customers.ts'
import { seeds } from '../support/seeds.ts'

test('a seed keeps giving the customers it always gave', () => {
  expect(generateCustomers({ seed: 'pinned', count: 1 })).toMatchInlineSnapshot(`
    [
      {
        "address": "554 Example Street, 00950 Nowhere",
        "company_name": "Nonexistent Ltd",
        "created_at": "2020-08-01T20:12:28.000000Z",
        "email": "chloe.stubbingford1@example.com",
        "id": "94b27dad-4ad6-4cb5-a9f7-715aa46e74a3",
        "language": "en",
        "name": "Chloé Stubbingford",
        "phone": "+1-685-555-0111",
        "timezone": "America/New_York",
        "username": "chloe.stubbingford1",
      },
    ]
  `)
})

test('another seed shares no id', () => {
  const ids = [...generateCustomers({ seed: 'a', count: 5000 }), ...generateCustomers({ seed: 'b', count: 5000 })]
  expect(new Set(ids.map(({ id }) => id)).size).toBe(10_000)
})

test('the ids are version 4 UUIDs that follow no order', () => {
  const ids = generateCustomers({ seed: 'a', count: 1000 }).map(({ id }) => id)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const ascents = ids.filter((id, index) => index > 0 && id > (ids[index - 1] ?? '')).length
  expect(ascents).toBeGreaterThan(400)
  expect(ascents).toBeLessThan(600)
})

test('customers are listed in the order they were created, no two in the same second', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 2, max: 3000 }), (seed, count) => {
      const created = generateCustomers({ seed, count }).map(({ created_at }) => Date.parse(created_at))
      expect(created.every((at, index) => index === 0 || at >= (created[index - 1] ?? NaN) + 1000)).toBe(true)
    }),
    { numRuns: seeds(30) },
  )
})

test('customers are fictional: addresses at example.com, telephone numbers for fiction, existing time zones', () => {
  const known = new Set(Intl.supportedValuesOf('timeZone'))
  const customers = generateCustomers({ seed: 'a', count: 500 })
  for (const { email, phone, timezone, username } of customers) {
    expect(email).toBe(`${username}@example.com`)
    expect(phone).toMatch(/^\+1-\d{3}-555-01\d\d$/)
    expect(known).toContain(timezone)
  }
  expect(new Set(customers.map(({ username }) => username)).size).toBe(500)
})
