import { below, isoSecond, pick, type Random, type ServiceCustomer } from '../customers.ts'
import { scoreOf, shuffled } from './orders-without-a-tiebreak.ts'
import { byName, mostRows, movingList, type Order, type Play, type Scenario, type Stage } from './scenario.ts'

/** The customers do not show which of two was changed first; a new customer goes to one end. */
const FIRST: Order = () => 1
const LAST: Order = () => -1

/** Lists in an order other than that of creation. */
const listedByName = ({ customers }: Stage) => movingList(customers.toSorted(byName), byName)
const latestChangeFirst = ({ customers, salt }: Stage) => movingList(shuffled(customers, salt), FIRST)

/** Calls `act` at the second request, the fourth, and so on. */
const everySecond = (act: (play: Play) => void) => (play: Play) => {
  if (play.count % 2 === 0) act(play)
}
/** Changes any customer, who moves to an end of a list by the latest change. */
const touch = (play: Play) => correct(play, 'phone')
const atTheFourth = (act: (play: Play) => void) => (play: Play) => {
  if (play.count === 4) act(play)
}

export const LISTS_THAT_MOVE: readonly Scenario[] = [
  {
    name: 'insert',
    says: 'At every second request a customer is added somewhere in the list, which stays in order of creation.',
    change: everySecond(arriveAnywhere),
  },
  {
    name: 'delete',
    says: 'At every second request a customer leaves, from anywhere in the list, until half of them are gone.',
    change: everySecond((play) => {
      if (play.list.rows().length > play.customers.length / 2) leave(play)
    }),
  },
  {
    name: 'insert-delete',
    says: 'At every request one customer leaves and another appears, so that the total never changes.',
    change: churn,
  },
  {
    name: 'by-name-churn',
    says: 'At every request one customer leaves and another appears in a list by name, in which neither dates nor ids show the order.',
    list: listedByName,
    change: churn,
  },
  {
    name: 'purge',
    says: 'Once, at the fourth request, a twelfth of all customers leave at once, all from pages read before.',
    change: atTheFourth(({ customers, list, random, read }) => {
      const leaving = some(list.rows().slice(0, read), Math.floor(customers.length / 12), random)
      for (const { id } of leaving) list.delete(id)
    }),
  },
  {
    name: 'count-lies',
    says: 'Once, at the fourth request, five customers already read are deleted and five are appended, so that the total is the same.',
    change: atTheFourth((play) => {
      for (const { id } of some(play.list.rows().slice(0, play.read), 5, play.random)) {
        play.list.delete(id)
        play.arrive()
      }
    }),
  },
  {
    name: 'move',
    says: 'The list shows the latest change first, and at every second request a customer is changed and jumps to the front.',
    list: latestChangeFirst,
    change: everySecond(touch),
  },
  {
    name: 'move-back',
    says: 'The list shows the latest change last, and at every second request a customer is changed and falls to the end.',
    list: ({ customers, salt }) => movingList(shuffled(customers, salt), LAST),
    change: everySecond(touch),
  },
  {
    name: 'heal',
    says: 'At each request a customer jumps to the front, during one pass in pages of a hundred; then the list is at rest.',
    list: latestChangeFirst,
    change: (play) => {
      if (play.count > 1 && play.count <= Math.max(4, Math.ceil(play.customers.length / 100))) touch(play)
    },
  },
  {
    name: 'hidden-order',
    says: 'The order is by a number that is not shown and never changes; fields change, and customers come and go, during a night and before it.',
    list: ({ customers, salt }) =>
      movingList(shuffled(customers, salt), (one, other) => scoreOf(one.id, salt) - scoreOf(other.id, salt)),
    change: (play) => {
      const { customers, count, sinceMs } = play
      const isNextNight = sinceMs > PAUSE_MS
      times((isNextNight ? Math.ceil(customers.length / 200) : 0) + (count % 2 === 0 ? 1 : 0), () => correct(play))
      times((isNextNight ? Math.ceil(customers.length / 2000) : 0) + (count % 20 === 0 ? 1 : 0), () => {
        leave(play)
        play.arrive()
      })
    },
  },
  {
    name: 'by-name-slow',
    says: 'Sixty requests a minute are allowed, and every second five customers are added to a list by name, and one is renamed.',
    service: { rateLimit: { requests: 60, windowMs: 60_000 } },
    list: listedByName,
    change: (play) => {
      const { elapsedMs, sinceMs } = play
      const seconds = Math.floor(elapsedMs / 1000) - Math.floor((elapsedMs - sinceMs) / 1000)
      // The list changes only while it is read: it does not grow for as long as a sandbox is left open.
      times(Math.min(seconds, PAUSE_MS / 1000), () => {
        times(5, play.arrive)
        correct(play, 'name')
      })
    },
  },
  {
    name: 'last-change',
    says: 'The list shows the latest change first: at every request a customer is changed and jumps to the front, at every tenth one is added there.',
    list: (stage) => movingList(byLatestChange(stage), FIRST),
    change: (play) => {
      touch(play)
      if (play.count % 10 === 0) play.arrive()
    },
  },
  {
    name: 'swapped-accounts',
    says: 'By name; once, at the fourth request, two customers swap names, one of them read already, and a third registers again under the same name.',
    list: listedByName,
    change: atTheFourth(({ list, random, newcomer, read }) => {
      const rows = list.rows()
      const [one, third] = [rows[below(random, read)], rows[below(random, read)]]
      const other = rows[read + below(random, Math.max(1, rows.length - read))]
      if (one === undefined || other === undefined || third === undefined || third === one) return
      const names = ({ name, username }: ServiceCustomer) => ({ name, username })
      list.change({ ...one, ...names(other) })
      list.change({ ...other, ...names(one) })
      list.delete(third.id)
      list.insert({ ...newcomer(third.created_at), ...names(third) })
    }),
  },
  {
    name: 'listed-twice',
    says: 'By name; every fiftieth customer is listed twice, the second time behind all the others, and names change meanwhile.',
    list: listedByName,
    arrange: (rows, _query, { places }) => [...rows, ...rows.filter(({ id }) => (places.get(id) ?? 1) % 50 === 0)],
    change: (play) => {
      if (play.count % 3 !== 0) return
      const [one, other] = [anyOf(play), anyOf(play)]
      if (one && other) play.list.change({ ...one, name: `${other.name} ${below(play.random, 9)}` })
    },
  },
]

/** A longer pause between two requests is the time between two nights. */
const PAUSE_MS = 60_000

function churn(play: Play): void {
  // No change before the first answer: it shows the list as it was before the request.
  if (play.count === 1 || play.list.rows().length === 0) return
  leave(play)
  arriveAnywhere(play)
}

/** Lists a customer anywhere, with a date between those of its neighbours, like an imported customer. */
function arriveAnywhere({ list, random, newcomer, customers, arrive }: Play): void {
  const rows = list.rows()
  if (rows.length >= mostRows(customers)) return
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const position = below(random, rows.length)
    const [startMs = 0, endMs = 0] = [position - 1, position].map((at) => Date.parse(rows[at]?.created_at ?? ''))
    const fromMs = Number.isNaN(startMs) ? endMs - 7_200_000 : startMs
    if (endMs - fromMs >= 2000) return list.insert(newcomer(isoSecond((fromMs + endMs) / 2)))
  }
  arrive()
}

function leave(play: Play): void {
  const leaving = anyOf(play)
  if (leaving !== undefined) play.list.delete(leaving.id)
}

/** Corrects a field of any customer, one of several where none is named. */
function correct(play: Play, named?: keyof ServiceCustomer): void {
  const changed = anyOf(play)
  if (changed === undefined) return
  const field = named ?? pick(play.random, CORRECTED)
  play.list.change({ ...changed, [field]: play.newcomer(changed.created_at)[field] })
}

const CORRECTED = ['name', 'phone', 'address', 'company_name'] as const

/** The latest change first. A third of the customers were changed some time after they were created, the others never. */
function byLatestChange({ customers, random }: Stage): ServiceCustomer[] {
  const endMs = Date.parse(customers.at(-1)?.created_at ?? '')
  const changes = customers.map((customer) => {
    const createdMs = Date.parse(customer.created_at)
    const isChanged = below(random, 3) === 0
    return { customer, changedMs: isChanged ? createdMs + below(random, endMs - createdMs) : createdMs }
  })
  return changes.toSorted((one, other) => other.changedMs - one.changedMs).map(({ customer }) => customer)
}

function anyOf({ list, random }: Pick<Play, 'list' | 'random'>): ServiceCustomer | undefined {
  const rows = list.rows()
  return rows[below(random, rows.length)]
}

/** At most `count` of `rows`, each at most once. */
function some<Row>(rows: readonly Row[], count: number, random: Random): Row[] {
  const left = [...rows]
  return Array.from({ length: Math.min(count, left.length) }).flatMap(() => left.splice(below(random, left.length), 1))
}

function times(count: number, act: () => void): void {
  for (let done = 0; done < count; done += 1) act()
}
