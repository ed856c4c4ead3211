import type { ServiceCustomer } from '../customers.ts'
import { below } from '../random.ts'
import type { Random } from '../random.ts'
import { arriveAnywhere, arriveLast } from './arrivals.ts'
import { byName, movingList } from './moving-list.ts'
import type { MovingList } from './moving-list.ts'
import type { Play, Scenario, Stage, Turn } from './scenario.ts'

/** Rows are added and deleted while the list is read. The rows that stay keep their order. */
export const LISTS_THAT_MOVE: readonly Scenario[] = [
  {
    name: 'insert',
    says: 'At every second request a customer is added somewhere in the list, which stays in order of creation.',
    create: (stage) => {
      const list = movingList(stage.customers)
      return { list, before: everySecond(() => arriveWhileSmall(stage, list)) }
    },
  },
  {
    name: 'delete',
    says: 'At every second request a customer leaves, from anywhere in the list, until half of them are gone.',
    create: ({ customers, random }) => {
      const list = movingList(customers)
      return { list, before: everySecond(() => leaveWhileLarge(list, random, customers.length)) }
    },
  },
  {
    name: 'insert-delete',
    says: 'At every request one customer leaves and another appears, so that the total never changes.',
    create: (stage) => churn(stage, movingList(stage.customers)),
  },
  {
    name: 'by-name-churn',
    says: 'At every request one customer leaves and another appears in a list by name, in which neither dates nor ids show the order.',
    create: (stage) => churn(stage, movingList(stage.customers.toSorted(byName), byName)),
  },
  {
    name: 'purge',
    says: 'Once, at the fourth request, a twelfth of all customers leave at once, all from pages read before.',
    create: ({ customers, random }) => {
      const list = movingList(customers)
      const purge = (read: readonly ServiceCustomer[]) => {
        for (const { id } of some(read, Math.floor(customers.length / 12), random)) list.delete(id)
      }
      return { list, before: onceAmongTheRead(list, purge) }
    },
  },
  {
    name: 'count-lies',
    says: 'Once, at the fourth request, five customers already read are deleted and five are appended, so that the total is the same.',
    create: ({ customers, random, newcomer }) => {
      const list = movingList(customers)
      const trade = (read: readonly ServiceCustomer[]) => {
        for (const { id } of some(read, 5, random)) {
          list.delete(id)
          arriveLast({ list, newcomer })
        }
      }
      return { list, before: onceAmongTheRead(list, trade) }
    },
  },
]

/** Calls `act` at the second request, the fourth, and so on. */
function everySecond(act: () => void): (turn: Turn) => void {
  return ({ count }) => {
    if (count % 2 === 0) act()
  }
}

function churn({ random, newcomer }: Stage, list: MovingList): Play {
  return {
    list,
    before: ({ count }) => {
      // No change before the first answer: it shows the list as it was before the request.
      if (count === 1 || list.rows().length === 0) return
      leave(list, random)
      arriveAnywhere({ list, random, newcomer })
    },
  }
}

/** Adds a customer, unless the list has grown too long: a sandbox may run for days. */
function arriveWhileSmall({ customers, random, newcomer }: Stage, list: MovingList): void {
  if (list.rows().length < customers.length * 2 + 100) arriveAnywhere({ list, random, newcomer })
}

function leaveWhileLarge(list: MovingList, random: Random, original: number): void {
  if (list.rows().length > original / 2) leave(list, random)
}

function leave(list: MovingList, random: Random): void {
  const rows = list.rows()
  const leaving = rows[below(random, rows.length)]
  if (leaving) list.delete(leaving.id)
}

/** Calls `act` once, at the fourth request, with the rows requested before. */
function onceAmongTheRead(list: MovingList, act: (read: readonly ServiceCustomer[]) => void): (turn: Turn) => void {
  let read = 0
  return ({ query, count }) => {
    if (count === 4) act(list.rows().slice(0, read))
    read = Math.max(read, query.page * query.perPage)
  }
}

/** At most `count` of `rows`, each at most once. */
function some<Row>(rows: readonly Row[], count: number, random: Random): Row[] {
  const left = [...rows]
  return Array.from({ length: Math.min(count, left.length) }).flatMap(() => left.splice(below(random, left.length), 1))
}
