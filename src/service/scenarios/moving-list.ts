import { UsageError } from '../../errors/errors.ts'
import { isoSecond, type ServiceCustomer } from '../customers.ts'
import { below, type Random } from '../random.ts'

/** A list of customers that records its changes. */
export type MovingList = ReturnType<typeof movingList>

/** The true state of the list, whatever the service answered: readers of the list are judged by it. */
export type Truth = {
  /** A mark of the current moment. */
  mark: () => Mark
  /** Ids listed without a break from the mark until now. */
  lived: (since: Mark) => ReadonlySet<string>
  /** Those of them that kept their place among the others of them. */
  stayed: (since: Mark) => ReadonlySet<string>
  /** Ids that moved since the mark, including those that left. */
  moved: (since: Mark) => ReadonlySet<string>
  /** Ids listed now. */
  listed: () => ReadonlySet<string>
}

/** A moment, as the number of changes until then. */
export type Mark = { readonly changes: number }

/** Negative when the first goes before the second. */
export type Order = (one: ServiceCustomer, other: ServiceCustomer) => number

/** Oldest first, as the generated customers are. */
const byCreation: Order = (one, other) => compare(one.created_at, other.created_at) || compare(one.id, other.id)

/** By name, which is independent of the date of creation. */
export const byName: Order = (one, other) => compare(one.name, other.name) || compare(one.username, other.username)

/** A list that starts with `customers`, which are in `order`. */
export function movingList(customers: readonly ServiceCustomer[], order: Order = byCreation) {
  const rows = [...customers]
  // A customer that is not in it was listed from the start.
  const arrivals = new Map<string, number>()
  const moves = new Map<string, number>()
  const listed = new Set(rows.map(({ id }) => id))
  let changes = 0
  const positionOf = (id: string): number => {
    const position = rows.findIndex((row) => row.id === id)
    if (position < 0) throw new UsageError(`The customer ${id} is not listed.`)
    return position
  }
  const put = (customer: ServiceCustomer, from: number, to: number): void => {
    rows.splice(to, 0, customer)
    changes += 1
    if (to !== from) moves.set(customer.id, changes)
  }
  const movedSince = (since: Mark) => new Set([...moves.keys()].filter((id) => Number(moves.get(id)) > since.changes))
  const livedRows = (since: Mark) => rows.filter(({ id }) => (arrivals.get(id) ?? 0) <= since.changes)

  return {
    /** The customers listed now. */
    rows: (): readonly ServiceCustomer[] => rows,
    /** Inserts a customer in the order of the list. Throws a UsageError when the id is listed already. */
    insert(customer: ServiceCustomer): void {
      if (listed.has(customer.id)) throw new UsageError(`The customer ${customer.id} is listed already.`)
      rows.splice(placeFor(customer, rows, order), 0, customer)
      listed.add(customer.id)
      changes += 1
      arrivals.set(customer.id, changes)
    },
    /** Deletes a customer; false if it is not listed. */
    delete(id: string): boolean {
      if (!listed.delete(id)) return false
      rows.splice(positionOf(id), 1)
      changes += 1
      return true
    },
    /** Moves a listed customer to another position, with its new fields. */
    move(customer: ServiceCustomer, to: number): void {
      const from = positionOf(customer.id)
      rows.splice(from, 1)
      put(customer, from, Math.min(to, rows.length))
    },
    /** Changes the fields of a listed customer, which moves to its place in the order of the list. */
    change(customer: ServiceCustomer): void {
      const from = positionOf(customer.id)
      rows.splice(from, 1)
      put(customer, from, placeFor(customer, rows, order))
    },
    truth: {
      mark: () => ({ changes }),
      lived: (since) => idsOf(livedRows(since)),
      stayed: (since) => idsOf(livedRows(since)).difference(movedSince(since)),
      moved: movedSince,
      listed: () => new Set(listed),
    } satisfies Truth,
  }
}

/** The position after the last row that goes before the customer, by binary search: a list of 50,000 moves at each request. */
function placeFor(customer: ServiceCustomer, rows: readonly ServiceCustomer[], order: Order): number {
  let [from, to] = [0, rows.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    const row = rows[middle]
    if (row === undefined || order(row, customer) > 0) to = middle
    else from = middle + 1
  }
  return from
}

function idsOf(rows: readonly ServiceCustomer[]): Set<string> {
  return new Set(rows.map(({ id }) => id))
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

type Arriving = { list: MovingList; random: Random; newcomer: (created_at: string) => ServiceCustomer }

/** Lists a customer anywhere, with a date between those of its neighbours, like an imported customer. */
export function arriveAnywhere({ list, random, newcomer }: Arriving): void {
  const rows = list.rows()
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const position = below(random, rows.length)
    const created = between(rows[position - 1], rows[position])
    if (created !== undefined) return list.insert(newcomer(created))
  }
  return arriveLast({ list, newcomer })
}

/** Lists a customer who was created after all the others. */
export function arriveLast({ list, newcomer }: Omit<Arriving, 'random'>): void {
  const latestMs = Date.parse(list.rows().at(-1)?.created_at ?? FIRST_DAY)
  list.insert(newcomer(isoSecond(latestMs + 60_000)))
}

/** A whole second between the dates of two customers; undefined if there is none. */
function between(before: ServiceCustomer | undefined, after: ServiceCustomer | undefined): string | undefined {
  if (after === undefined) return undefined
  const endMs = Date.parse(after.created_at)
  const startMs = before === undefined ? endMs - 7_200_000 : Date.parse(before.created_at)
  return endMs - startMs < 2000 ? undefined : isoSecond((startMs + endMs) / 2)
}

export const FIRST_DAY = '2024-01-01T00:00:00.000000Z'
