import { generateCustomers, type ServiceCustomer } from '../../src/service/customers.ts'
import { below, seededRandom } from '../../src/service/random.ts'

/** What the service lists: as it was, with 1 % of the rows changed, with 1 % of them gone, or with 1 % new at its top. */
export const EDITIONS = ['base', 'changed', 'gone', 'new'] as const
export type Edition = (typeof EDITIONS)[number]

/** A list whose records were rendered once, so that a page of any size is a slice of bytes and nothing else. */
export type ServedList = {
  readonly total: number
  /** The whole body of one page; `address` is the list's own, for the links. */
  page(page: number, size: number, address: string): Buffer
}

/** The made-up customers of one organization in an edition. The same seed, count and edition give the same list. */
export function servedList({ seed, count, edition }: { seed: string; count: number; edition: Edition }): ServedList {
  return rendered(editionOf(generateCustomers({ seed, count }), edition, seed))
}

/** The rows to change or to leave out are drawn at random, so that they fall on pages as they would in life. */
function editionOf(customers: ServiceCustomer[], edition: Edition, seed: string): ServiceCustomer[] {
  if (edition === 'base') return customers
  if (edition === 'new') return [...newAtTop(customers, seed), ...customers]
  const random = seededRandom(`${seed} ${edition}`)
  const isDrawn = () => below(random, 100) === 0
  if (edition === 'gone') return customers.filter(() => !isDrawn())
  return customers.map((customer) => (isDrawn() ? { ...customer, name: `${customer.name} II` } : customer))
}

/** As many customers more as one in a hundred, which stand before all others in the order of the list. */
function newAtTop(customers: readonly ServiceCustomer[], seed: string): ServiceCustomer[] {
  const [first] = customers
  if (first === undefined) return []
  const count = Math.ceil(customers.length / 100)
  return generateCustomers({ seed: `${seed} new`, count }).map((customer, place) => ({
    ...customer,
    created_at: new Date(Date.parse(first.created_at) - (count - place) * 1000).toISOString(),
  }))
}

function rendered(customers: readonly ServiceCustomer[]): ServedList {
  const total = customers.length
  // Where each record begins; the last entry is where one more would. A comma stands before each of them.
  const starts = new Float64Array(total + 1)
  const blocks: Buffer[] = []
  let length = 0
  for (let from = 0; from < total; from += BLOCK) {
    const texts = customers.slice(from, from + BLOCK).map((customer) => `,${JSON.stringify(customer)}`)
    texts.forEach((text, index) => {
      starts[from + index] = length
      length += Buffer.byteLength(text)
    })
    blocks.push(Buffer.from(texts.join('')))
  }
  starts[total] = length
  const records = Buffer.concat(blocks)

  return {
    total,
    page(page, size, address) {
      const from = Math.min(total, (page - 1) * size)
      const to = Math.min(total, from + size)
      const rows = from === to ? NOTHING : records.subarray((starts[from] ?? 0) + 1, starts[to])
      return Buffer.concat([OPENING, rows, Buffer.from(`],${tail({ page, size, from, to, total, address })}}`)])
    },
  }
}

const BLOCK = 1000
const NOTHING = Buffer.alloc(0)
const OPENING = Buffer.from('{"success":true,"data":[')

type Place = { page: number; size: number; from: number; to: number; total: number; address: string }

/** `meta` and `links` in the form the service gives them. */
function tail({ page, size, from, to, total, address }: Place): string {
  const lastPage = Math.max(1, Math.ceil(total / size))
  const link = (number: number): string => `${address}?page=${number}`
  const isEmpty = from === to
  const meta = {
    current_page: page,
    from: isEmpty ? null : from + 1,
    last_page: lastPage,
    per_page: size,
    to: isEmpty ? null : to,
    total,
  }
  const links = {
    first: link(1),
    last: link(lastPage),
    prev: page > 1 ? link(page - 1) : null,
    next: page < lastPage ? link(page + 1) : null,
  }
  return `"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}`
}
