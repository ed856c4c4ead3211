import { expect, test } from 'vitest'
import type { Candidate, Listed } from '../../src/model/run.ts'
import { RequestBudget } from '../../src/quick/quick-scan.ts'
import { searchForGone } from '../../src/quick/read-quickly.ts'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { pageOfList } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'

const CONTROL: Listed = { id: customerId(1), name: null, username: 'customer-1', email: 'customer-1@example.com' }

const NONE_FOR_CERTAIN = { gone: [], pending: [5, 8, 9] }

test.each<[what: string, told: Searching, left: object, searches: number]>([
  ['all of them can be made', { most: 12, requestsEach: 1 }, { gone: [8, 9], pending: [5] }, 6],
  ['the requests suffice for one', { most: 9, requestsEach: 1 }, { gone: [8], pending: [5, 9] }, 4],
  ['those that were repeated leave too few', { most: 12, requestsEach: 3 }, NONE_FOR_CERTAIN, 4],
  ['none is left between those for one customer', { most: 14, requestsEach: 5 }, NONE_FOR_CERTAIN, 3],
  ['one field alone is searched', { most: 20, requestsEach: 1, isSearchedBy: ['email'] }, NONE_FOR_CERTAIN, 4],
])('a customer is gone where searches show it, and one who needs none anyway: %s', async (_, told, left, searches) => {
  expect(await searching(told)).toEqual({ left, searches })
  expect((await searching({ ...told, certain: [7] })).left.gone).toContain(7)
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
