import { expect, test } from 'vitest'
import { type CustomersFilter, readCustomers } from '../../src/copies/read-rows.ts'
import { aCustomer, customerId } from '../support/builders.ts'
import { aMirror, mirrorPages, tamper } from '../support/mirror-file.ts'

async function idsOf(file: string, filter: Partial<CustomersFilter>): Promise<unknown[]> {
  const found = await Array.fromAsync(readCustomers(file, { columns: ['id'], includeRemoved: false, ...filter }))
  return found.flatMap(({ rows }) => rows.flat())
}

/** The numbers of the customers with these overrides that a search finds. */
async function searching(customers: readonly object[]): Promise<(search: string) => Promise<number[]>> {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers.map((overrides, index) => aCustomer(index + 1, { ...overrides }))])
  return async (search) =>
    (await idsOf(mirror.file, { search })).map(
      (id) => customers.findIndex((_, index) => customerId(index + 1) === id) + 1,
    )
}

const CUSTOMERS = [
  { name: 'Ada Example', username: 'ada', email: 'one@example.com' },
  { name: 'ÅSA ÉXAMPLE', username: 'asa', email: 'Asa@Example.SE' },
  { name: '100% Sure', username: 'sure', email: 'three@example.com' },
  { name: 'Under Score', username: 'under_score', email: null },
]

test.each([
  ['a part of the name, in any case', 'ADA exa', [1]],
  ['a part of the username', 'asa', [2]],
  ['a part of the e-mail address', '@example.se', [2]],
  ['letters that are not ASCII, in any case', 'åsa é', [2]],
  ['a percent sign, which is itself', '%', [3]],
  ['an underscore, which is itself', '_', [4]],
  ['an asterisk, which is itself', '*', []],
  ['a quotation mark, which is itself', `' OR 1=1 --`, []],
])('a search finds %s', async (_, search, expected) => {
  expect(await (await searching(CUSTOMERS))(search)).toEqual(expected)
})

test('customers are chosen by organization and language, active ones unless all are asked for', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [[aCustomer(1, { language: 'fr' }), aCustomer(2), aCustomer(3, { language: 'FR' })]])
  await mirrorPages(mirror, [[aCustomer(4, { language: 'fr' })]], { organization: 'globex' })
  tamper(mirror.file, `UPDATE customers SET removed_at = '2026-01-06 02:00:00.000' WHERE id = ?`, customerId(2))
  const chosen = async (filter: Partial<CustomersFilter>) =>
    (await idsOf(mirror.file, filter)).map((id) => Number.parseInt(String(id).slice(0, 8), 16))

  expect(await chosen({})).toEqual([1, 3, 4])
  expect(await chosen({ includeRemoved: true })).toEqual([1, 2, 3, 4])
  expect(await chosen({ organization: 'globex' })).toEqual([4])
  expect(await chosen({ language: 'fr' })).toEqual([1, 4])
  expect(await chosen({ language: 'fr', organization: 'acme', search: 'customer' })).toEqual([1])
})
