import type { ServiceCustomer } from '../customers.ts'
import type { ListQuery } from '../listing.ts'
import { movingList } from './moving-list.ts'
import { isUnfiltered, type Scenario } from './scenario.ts'
import { shuffled, shuffledInBlocks } from './shuffling.ts'

/** The list is at rest, and every answer shows it in another order. Totals are right and never change. */
export const ORDERS_WITHOUT_A_TIEBREAK: readonly Scenario[] = [
  {
    name: 'ties',
    says: 'Groups of forty customers were created in the same second, and the order within a group differs with page and size.',
    list: ({ customers }) => movingList(inGroups(customers, 40)),
    arrange: (rows, { query }, { salt }) => {
      const tied = (one: number, next: number) => rows[one]?.created_at === rows[next]?.created_at
      return shuffledInBlocks(rows, salt ^ saltOf(query), tied, windowOf(query, rows.length))
    },
  },
  {
    name: 'import-of-one-second',
    says: 'A sixteenth of all customers was imported in one second, among dated ones, and stands in another order at every request.',
    list: ({ customers }) => movingList(withImport(customers)),
    keepsPlace: ({ created_at }, { customers }) => created_at !== importSecond(customers),
    arrange: (rows, { query, count }, { salt, customers }) => {
      const second = importSecond(customers)
      const same = (one: number, next: number) => rows[one]?.created_at === second && rows[next]?.created_at === second
      return shuffledInBlocks(rows, salt + count, same, windowOf(query, rows.length))
    },
  },
  {
    name: 'unstable',
    says: 'At every request, customers swap places with others up to twenty positions away.',
    arrange: (rows, { query, count }, { salt }) => {
      const block = (index: number) => Math.floor((index + count * 7) / 21)
      const same = (one: number, next: number) => block(one) === block(next)
      return shuffledInBlocks(rows, salt + count, same, windowOf(query, rows.length))
    },
  },
  {
    name: 'shuffle',
    says: 'Every request is answered from the whole list in another order.',
    arrange: (rows, { count }, { salt }) => shuffled(rows, salt + count),
  },
]

/** The customers in groups of `size`, each with the date of the first in its group. */
function inGroups(customers: readonly ServiceCustomer[], size: number): ServiceCustomer[] {
  return customers.map((customer, index) => {
    const first = customers[index - (index % size)] ?? customer
    return { ...customer, created_at: first.created_at }
  })
}

/** The customers, with one date for a sixteenth of them, who stand together. */
function withImport(customers: readonly ServiceCustomer[]): ServiceCustomer[] {
  const start = importStart(customers.length)
  const end = start + Math.ceil(customers.length / 16)
  const created_at = importSecond(customers)
  return customers.map((customer, index) => (index < start || index >= end ? customer : { ...customer, created_at }))
}

function importSecond(customers: readonly ServiceCustomer[]): string {
  return customers[importStart(customers.length)]?.created_at ?? ''
}

function importStart(length: number): number {
  return Math.floor(length * 0.4)
}

/** The positions that a request reads; all of them if the request filters the list. */
function windowOf(query: ListQuery, length: number): { start: number; end: number } {
  if (!isUnfiltered(query)) return { start: 0, end: length }
  const start = Math.min((query.page - 1) * query.perPage, length)
  return { start, end: Math.min(start + query.perPage, length) }
}

function saltOf({ page, perPage, search, language }: ListQuery): number {
  const text = `${search}\n${language}`
  return Math.imul(page, 0x9e_37_79_b1) ^ Math.imul(perPage, 0x85_eb_ca_77) ^ Math.imul(text.length, 0xc2_b2_ae_3d)
}
