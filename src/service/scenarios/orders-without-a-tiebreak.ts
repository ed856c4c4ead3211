import type { ServiceCustomer } from '../customers.ts'
import type { ListQuery } from '../listing.ts'
import { isUnfiltered, movingList, type Scenario } from './scenario.ts'

/** The list is at rest, and every answer shows it in another order. Totals are right and never change. */
export const ORDERS_WITHOUT_A_TIEBREAK: readonly Scenario[] = [
  {
    name: 'ties',
    says: 'Groups of forty customers were created in the same second, and the order within a group differs with page and size.',
    list: ({ customers }) => movingList(dated(customers, (index) => index - (index % 40))),
    arrange: (rows, query, { salt }) => shuffledInBlocks(rows, query, salt ^ saltOf(query), tied(rows)),
  },
  {
    name: 'import-of-one-second',
    says: 'A sixteenth of all customers was imported in one second, among dated ones, and stands in another order at every request.',
    list: ({ customers }) => {
      const from = Math.floor(customers.length * 0.4)
      const to = from + Math.ceil(customers.length / 16)
      return movingList(dated(customers, (index) => (index >= from && index < to ? from : index)))
    },
    arrange: (rows, query, { count, salt }) => shuffledInBlocks(rows, query, salt + count, tied(rows)),
  },
  {
    name: 'unstable',
    says: 'At every request, customers swap places with others up to twenty positions away.',
    arrange: (rows, query, { count, salt }) => {
      const block = (index: number) => Math.floor((index + count * 7) / 21)
      const same = (one: number, next: number) => block(one) === block(next)
      return shuffledInBlocks(rows, query, salt + count, same)
    },
  },
  {
    name: 'shuffle',
    says: 'Every request is answered from the whole list in another order.',
    arrange: (rows, _query, { count, salt }) => shuffled(rows, salt + count),
  },
]

/** The customers, each with the date of the one at another place. */
function dated(customers: Rows, placeOf: (index: number) => number): ServiceCustomer[] {
  return customers.map((customer, index) => {
    const { created_at } = customers[placeOf(index)] ?? customer
    return { ...customer, created_at }
  })
}

function tied(rows: Rows) {
  return (one: number, next: number) => rows[one]?.created_at === rows[next]?.created_at
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

/** The rows, shuffled within blocks of neighbours that are `same`: only in those of the page, so that one of a long list costs no more. */
function shuffledInBlocks(rows: Rows, query: ListQuery, salt: number, same: (one: number, next: number) => boolean) {
  const { page, perPage } = isUnfiltered(query) ? query : { page: 1, perPage: rows.length }
  const end = Math.min(page * perPage, rows.length)
  let from = Math.min((page - 1) * perPage, rows.length)
  while (from > 0 && from < rows.length && same(from - 1, from)) from -= 1
  const result = [...rows]
  while (from < end) {
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
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35)
  return (hash ^ (hash >>> 16)) >>> 0
}
