import { isoSecond } from '../customers.ts'
import type { ServiceCustomer } from '../customers.ts'
import { below, pick } from '../random.ts'
import { byName, movingList } from './moving-list.ts'
import type { MovingList, Order } from './moving-list.ts'
import { anyOf, FIRST, touch } from './orders-that-change.ts'
import type { Play, Scenario, Stage } from './scenario.ts'
import { scoreOf, shuffled } from './shuffling.ts'

/** Lists in the orders that services use besides creation, which change as they do on an ordinary night. */
export const LISTS_IN_OTHER_ORDERS: readonly Scenario[] = [
  {
    name: 'hidden-order',
    says: 'The order is by a number that is not shown and never changes; fields change, and customers come and go, during a night and before it.',
    create: inHiddenOrder,
  },
  {
    name: 'by-name-slow',
    says: 'Sixty requests a minute are allowed, and every second five customers are added to a list by name, and one is renamed.',
    service: { rateLimit: { requests: 60, windowMs: 60_000 } },
    create: byNameAtAPace,
  },
  {
    name: 'last-change',
    says: 'The list shows the latest change first: at every request a customer is changed and jumps to the front, at every tenth one is added there.',
    create: latestChangeFirst,
  },
]

function inHiddenOrder(stage: Stage): Play {
  const { customers, random, now } = stage
  const salt = random()
  const byNumber: Order = (one, other) => scoreOf(one.id, salt) - scoreOf(other.id, salt)
  const list = movingList(shuffled(customers, salt), byNumber)
  const arrive = arrivals(stage, list)
  const change = (): void => {
    const changed = anyOf(list.rows(), random)
    if (changed !== undefined) list.change(withAnotherField(changed, stage))
  }
  const trade = (): void => {
    const leaving = anyOf(list.rows(), random)
    if (leaving !== undefined) list.delete(leaving.id)
    arrive()
  }
  let lastMs = now()
  return {
    list,
    before: ({ count }) => {
      const isNewNight = now() - lastMs > PAUSE_MS
      lastMs = now()
      if (isNewNight) times(Math.ceil(customers.length / 200), change)
      if (isNewNight) times(Math.ceil(customers.length / 2000), trade)
      if (count % 2 === 0) change()
      if (count % 20 === 0) trade()
    },
  }
}

function byNameAtAPace(stage: Stage): Play {
  const { customers, random, newcomer, now } = stage
  const list = movingList(customers.toSorted(byName), byName)
  const arrive = arrivals(stage, list)
  const aSecond = (): void => {
    times(5, arrive)
    const renamed = anyOf(list.rows(), random)
    if (renamed !== undefined) list.change({ ...renamed, name: newcomer(renamed.created_at).name })
  }
  let untilMs = now()
  return {
    list,
    before: () => {
      const seconds = Math.floor((now() - untilMs) / 1000)
      untilMs += seconds * 1000
      // The list changes only while it is read: it does not grow for as long as a sandbox is left open.
      times(Math.min(seconds, PAUSE_MS / 1000), aSecond)
    },
  }
}

function latestChangeFirst(stage: Stage): Play {
  const list = movingList(byLatestChange(stage), FIRST)
  const arrive = arrivals(stage, list)
  return {
    list,
    before: ({ count }) => {
      touch(list, stage, 'front')
      if (count % 10 === 0) arrive()
    },
  }
}

/** A longer pause between two requests is the time between two nights. */
const PAUSE_MS = 60_000

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

/** Adds a customer who was created after all the others, unless the list has grown too long: a sandbox may run for days. */
function arrivals({ customers, newcomer }: Stage, list: MovingList): () => void {
  let createdMs = Date.parse(customers.at(-1)?.created_at ?? '2024-01-01T00:00:00Z')
  return () => {
    if (list.rows().length >= customers.length * 2 + 100) return
    createdMs += 60_000
    list.insert(newcomer(isoSecond(createdMs)))
  }
}

/** The customer with one other field, as if it had been corrected. */
function withAnotherField(customer: ServiceCustomer, { random, newcomer }: Stage): ServiceCustomer {
  const field = pick(random, CORRECTED)
  return { ...customer, [field]: newcomer(customer.created_at)[field] }
}

const CORRECTED = ['name', 'phone', 'address', 'company_name'] as const

function times(count: number, act: () => void): void {
  for (let done = 0; done < count; done += 1) act()
}
