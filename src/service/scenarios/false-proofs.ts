import type { ServiceCustomer } from '../customers.ts'
import { below } from '../random.ts'
import { arriveLast } from './arrivals.ts'
import { byName, movingList, type MovingList } from './moving-list.ts'
import type { Scenario, Stage } from './scenario.ts'

/** Every answer adds up with the others, and customers are missing all the same. */
export const FALSE_PROOFS: readonly Scenario[] = [
  {
    name: 'capped-anywhere',
    says: 'Newest first; three customers come every night, and the service counts and shows no more than at first: the oldest are on no page.',
    create: ({ customers, newcomer, now }) => {
      const list = movingList(customers)
      const atNight = nightly(now)
      return {
        list,
        keepsPlace: () => true,
        before: () => {
          if (atNight()) for (let come = 0; come < ARRIVALS; come += 1) arriveLast({ list, newcomer })
        },
        arrange: (rows) => rows.toReversed().slice(0, customers.length),
      }
    },
  },
  {
    name: 'swapped-accounts',
    says: 'By name; once, at the fourth request, two customers swap names, one of them read already, and a third registers again under the same name.',
    create: (stage) => {
      const list = movingList(stage.customers.toSorted(byName), byName)
      let read = 0
      return {
        list,
        before: ({ query, count }) => {
          if (count === 4) swap(list, stage, read)
          read = Math.max(read, query.page * query.perPage)
        },
      }
    },
  },
  {
    name: 'unequal-replicas',
    says: 'Oldest first; every other request is answered by a database that lacks the newest thirty customers.',
    create: ({ customers }) => ({
      list: movingList(customers),
      keepsPlace: () => true,
      arrange: (rows, { count }) => (count % 2 === 0 ? rows.slice(0, -LAGGING) : rows),
    }),
  },
  {
    name: 'listed-twice',
    says: 'By name; every fiftieth customer is listed twice, the second time behind all the others, and names change meanwhile.',
    create: ({ customers, random }) => {
      const list = movingList(customers.toSorted(byName), byName)
      const twice = new Set(customers.filter((_, index) => index % 50 === 0).map(({ id }) => id))
      return {
        list,
        keepsPlace: () => true,
        before: ({ count }) => {
          if (count % 3 === 0) rename(list, random)
        },
        arrange: (rows) => [...rows, ...rows.filter(({ id }) => twice.has(id))],
      }
    },
  },
]

const ARRIVALS = 3
const LAGGING = 30
const NIGHT_MS = 6 * 3_600_000

/** Whether hours have passed since it was asked last. */
function nightly(now: () => number): () => boolean {
  let lastMs = now()
  return () => {
    const sinceMs = now() - lastMs
    lastMs = now()
    return sinceMs > NIGHT_MS
  }
}

function swap(list: MovingList, { random, newcomer }: Stage, read: number): void {
  const rows = list.rows()
  const [one, third] = [rows[below(random, read)], rows[below(random, read)]]
  const other = rows[read + below(random, Math.max(1, rows.length - read))]
  if (one === undefined || other === undefined || third === undefined || third === one) return
  list.change(named(one, other))
  list.change(named(other, one))
  list.delete(third.id)
  list.insert(named(newcomer(third.created_at), third))
}

function rename(list: MovingList, random: Stage['random']): void {
  const rows = list.rows()
  const [one, other] = [rows[below(random, rows.length)], rows[below(random, rows.length)]]
  if (one !== undefined && other !== undefined) list.change({ ...one, name: `${other.name} ${below(random, 9)}` })
}

/** The customer with the names of another. */
function named(customer: ServiceCustomer, { name, username }: ServiceCustomer): ServiceCustomer {
  return { ...customer, name, username }
}
