import type { ServiceCustomer } from '../customers.ts'
import type { ListQuery } from '../listing.ts'
import { isUnfiltered, movingList, type Scenario } from './scenario.ts'

/** The list is at rest, and every answer shows it in another order. Totals are right and never change. */
export const ORDERS_WITHOUT_A_TIEBREAK: readonly Scenario[] = [
  {
    name: 'ties',
    says: 'Groups of forty customers were created in the same second, and the order within a group differs with page and size.',
    list: ({ customers }) => movingList(inGroups(customers, 40)),
    arrange: (rows, query, { salt }) => {
      const tied = (one: number, next: number) => rows[one]?.created_at === rows[next]?.created_at
      return shuffledInBlocks(rows, salt ^ saltOf(query), tied, windowOf(query, rows.length))
    },
  },
  {
    name: 'import-of-one-second',
    says: 'A sixteenth of all customers was imported in one second, among dated ones, and stands in another order at every request.',
    list: ({ customers }) => movingList(withImport(customers)),
    keepsPlace: ({ created_at }, { customers }) => created_at !== importSecond(customers),
    arrange: (rows, query, { count, salt, customers }) => {
      const second = importSecond(customers)
      const same = (one: number, next: number) => rows[one]?.created_at === second && rows[next]?.created_at === second
      return shuffledInBlocks(rows, salt + count, same, windowOf(query, rows.length))
    },
  },
  {
    name: 'unstable',
    says: 'At every request, customers swap places with others up to twenty positions away.',
    arrange: (rows, query, { count, salt }) => {
      const block = (index: number) => Math.floor((index + count * 7) / 21)
      const same = (one: number, next: number) => block(one) === block(next)
      return shuffledInBlocks(rows, salt + count, same, windowOf(query, rows.length))
    },
  },
  {
    name: 'shuffle',
    says: 'Every request is answered from the whole list in another order.',
    arrange: (rows, _query, { count, salt }) => shuffled(rows, salt + count),
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

type Rows = readonly ServiceCustomer[]

/** The rows in an order that depends on `salt` alone. */
export function shuffled(rows: Rows, salt: number): ServiceCustomer[] {
  const scored = rows.map((row) => ({ row, score: scoreOf(row.id, salt) }))
  return scored.toSorted((one, other) => one.score - other.score).map(({ row }) => row)
}

/**
 * The rows, shuffled within each block; neighbours are in one block if `same` returns true. Blocks outside `[start, end)` are
 * not shuffled, so that a page of a long list costs no more than a page of a short one.
 */
function shuffledInBlocks(
  rows: Rows,
  salt: number,
  same: (one: number, next: number) => boolean,
  { start, end }: { start: number; end: number },
): Rows {
  let from = Math.min(start, rows.length)
  while (from > 0 && from < rows.length && same(from - 1, from)) from -= 1
  const result = [...rows]
  while (from < Math.min(end, rows.length)) {
    let to = from + 1
    while (to < rows.length && same(to - 1, to)) to += 1
    result.splice(from, to - from, ...shuffled(rows.slice(from, to), salt))
    from = to
  }
  return result
}

/** A pseudo-random number for a text and a salt (FNV-1a with the finalizer of MurmurHash). */
export function scoreOf(text: string, salt: number): number {
  let hash = 0x81_1c_9d_c5 ^ salt
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35)
  return (hash ^ (hash >>> 16)) >>> 0
}
