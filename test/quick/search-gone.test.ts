import { expect, test } from 'vitest'
import type { Candidate, Listed } from '../../src/model/run.ts'
import { RequestBudget } from '../../src/quick/quick-scan.ts'
import { searchForGone } from '../../src/quick/read-quickly.ts'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { pageOfList } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'

const CONTROL: Listed = { id: customerId(1), name: null, username: 'customer-1', email: 'customer-1@example.com' }

test('a customer is taken for gone when no search finds them', async () => {
  expect(await searching({ most: 12, requestsEach: 1 })).toEqual({ left: { gone: [8, 9], pending: [5] }, searches: 6 })
})

test('as many customers are searched for as the requests suffice for, and the others stay pending', async () => {
  expect(await searching({ most: 9, requestsEach: 1 })).toEqual({ left: { gone: [8], pending: [5, 9] }, searches: 4 })
})

test('where searches that had to be repeated leave too few requests for the others, no customer has left for certain', async () => {
  expect(await searching({ most: 12, requestsEach: 3 })).toEqual({
    left: { gone: [], pending: [5, 8, 9] },
    searches: 4,
  })
})

test('where no request is left between the searches for one customer, no other search is made, and none has left for certain', async () => {
  expect(await searching({ most: 14, requestsEach: 5 })).toEqual({
    left: { gone: [], pending: [5, 8, 9] },
    searches: 3,
  })
})

test('a customer whose absence one field alone confirms stays pending, and one who needs no search is gone', async () => {
  const told = { most: 20, requestsEach: 1, certain: [7], isSearchedBy: ['email'] }

  expect(await searching(told)).toEqual({ left: { gone: [7], pending: [5, 8, 9] }, searches: 4 })
})

test('a customer who needs no search is gone where the searches for others cannot be made', async () => {
  expect(await searching({ most: 12, requestsEach: 5, certain: [7] })).toMatchObject({
    left: { gone: [7], pending: [5, 8, 9] },
  })
})

/** Searches for the customers 8 and 9, who are not listed, by address and username, with `most` requests; customer 5 is pending before. */
async function searching({ most, requestsEach, certain = [], isSearchedBy = ['email', 'username'] }: Searching) {
  const budget = new RequestBudget(most)
  let searches = 0
  const source = {
    readPage: () => expect.unreachable(),
    async search(text: string) {
      searches += 1
      for (let again = 1; again < requestsEach; again += 1) budget.take()
      const list = customers(1, 5).filter((record) => isSearchedBy.some((field) => record[field] === text))
      return pageOfList(list, { page: 1, size: 100 })
    },
  }
  const findGone = async (_: unknown, rowIds: readonly number[]) => rowIds.map(absent)
  const mirror = { findGone, findListed: async () => [CONTROL] }
  const run = await (await aMirror()).startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const { signal } = new AbortController()
  const conclusion = { gone: [...certain, 8, 9], pending: [5], certain }
  const left = await searchForGone({ source, budget, mirror, random: () => 0, signal }, run, conclusion, 100)
  return { left, searches }
}

type Searching = { most: number; requestsEach: number; certain?: number[]; isSearchedBy?: string[] }

function absent(n: number): Candidate {
  const named = { name: null, username: `customer-${n}`, email: `customer-${n}@example.com` }
  const counted = { missingProven: 0, missingScans: 1, missingWhole: 1 }
  return { rowId: n, id: customerId(n), ...named, ...counted, createdAtUtc: null, earlier: [] }
}
