import { UsageError } from '../../errors/errors.ts'
import type { Answer, AnswerList, Serve } from '../answer.ts'
import type { ServiceLimit } from '../app.ts'
import { generateCustomers, isoSecond, type Random, seededRandom, type ServiceCustomer } from '../customers.ts'
import type { ListEnvelope, ListQuery } from '../listing.ts'

/** One wrong behaviour of a service, by its seed, requests and, where it says so, the clock. What has no rule is correct, and the list at rest. */
export type Scenario = {
  name: string
  says: string
  service?: { rateLimit?: ServiceLimit; sharedRateLimit?: ServiceLimit; clockAheadMs?: number }
  /** The list as it starts; without it, in order of creation. */
  list?: (stage: Stage) => MovingList
  /** Runs just before a request is answered. */
  change?: (play: Play) => void
  /** The order in which a request sees the rows. */
  arrange?: (rows: readonly ServiceCustomer[], query: ListQuery, play: Play) => readonly ServiceCustomer[]
  /** A wrong answer, in place of the correct one. */
  answer?: (play: Play, serve: Serve) => Answer
}

export type Stage = {
  /** In order of creation, oldest first, and the place of each. */
  customers: readonly ServiceCustomer[]
  places: ReadonlyMap<string, number>
  random: Random
  /** A number that stays the same, drawn when it is first asked for. */
  readonly salt: number
  newcomer: (created_at: string) => ServiceCustomer
  dripMs: number
}

/** A scenario under way, with the valid and authenticated request that is answered now. */
export type Play = Stage & {
  list: MovingList
  /** Lists a customer who was created after all the others, unless there are so many rows; without a number, `mostRows`. */
  arrive: (most?: number) => void
  /** Answers that the scenario remembers, by a name it gives them. */
  remembered: Map<string, ListEnvelope>
  query: ListQuery
  /** The number of the request within the organization, from 1; 0 before the first. */
  count: number
  /** How many rows, from the first on, the requests before asked for. */
  read: number
  /** Milliseconds since the request before, and since the start, by the service's clock. */
  sinceMs: number
  elapsedMs: number
}

export function isUnfiltered({ search, language }: ListQuery): boolean {
  return search === '' && language === ''
}

/** `seed` is that of every random choice; `now` is the service's clock, in Unix milliseconds. */
type StageOptions = Pick<Stage, 'customers' | 'dripMs'> & { scenario: Scenario; seed: string; now: () => number }

/** Starts a scenario for one organization of a sandbox: its list, and its input to the service. */
export function stageOrganization({ scenario, customers, seed, dripMs, now }: StageOptions) {
  const random = seededRandom(`${seed} ${scenario.name}`)
  const places = new Map(customers.map(({ id }, place) => [id, place]))
  let salt: number | undefined
  const stage: Stage = {
    ...{ customers, places, random, newcomer: newcomers(seed), dripMs },
    get salt() {
      return (salt ??= random())
    },
  }
  const list = scenario.list?.(stage) ?? movingList(customers)
  const play: Play = Object.assign(stage, {
    ...{ list, arrive: arrivingIn(stage, list), remembered: new Map() },
    query: { page: 0, perPage: 0, search: '', language: '' },
    ...{ count: 0, read: 0, sinceMs: 0, elapsedMs: 0 },
  })
  const startMs = now()
  const answer: AnswerList = (query, serve) => {
    const elapsedMs = now() - startMs
    const read = Math.max(play.read, play.query.page * play.query.perPage)
    Object.assign(play, { query, count: play.count + 1, read, sinceMs: elapsedMs - play.elapsedMs, elapsedMs })
    scenario.change?.(play)
    return scenario.answer?.(play, serve) ?? { kind: 'page', envelope: serve(query) }
  }
  const rowsFor = (query: ListQuery) => scenario.arrange?.(list.rows(), query, play) ?? list.rows()
  return { list, customers: { list: rowsFor }, answer }
}

/** Makes new customers, the same ones for the same seed. */
export function newcomers(seed: string): Stage['newcomer'] {
  let made = 0
  return (created_at) => {
    made += 1
    const [customer] = generateCustomers({ seed: `${seed} newcomer ${made}`, count: 1 })
    if (customer === undefined) throw new Error('No customer was made')
    const username = `${customer.username}.new${made}`
    return { ...customer, username, email: `${username}@example.com`, created_at }
  }
}

function arrivingIn({ customers, newcomer }: Stage, list: MovingList): Play['arrive'] {
  let createdMs = Date.parse(customers.at(-1)?.created_at ?? '2024-01-01')
  return (most = mostRows(customers)) => {
    if (list.rows().length >= most) return
    createdMs += 60_000
    list.insert(newcomer(isoSecond(createdMs)))
  }
}

/** How long a list may grow: a sandbox may run for days. */
export function mostRows(customers: readonly ServiceCustomer[]): number {
  return customers.length * 2 + 100
}

type MovingList = ReturnType<typeof movingList>

export type Order = (one: ServiceCustomer, other: ServiceCustomer) => number

/** Oldest first, as the generated customers are. */
const byCreation: Order = (one, other) => compare(one.created_at, other.created_at) || compare(one.id, other.id)

/** By name, which is independent of the date of creation. */
export const byName: Order = (one, other) => compare(one.name, other.name) || compare(one.username, other.username)

/** A list that starts with `customers`, which are in `order`. */
export function movingList(customers: readonly ServiceCustomer[], order: Order = byCreation) {
  const rows = [...customers]
  const positionOf = (id: string): number => {
    const position = rows.findIndex((row) => row.id === id)
    if (position < 0) throw new UsageError(`The customer ${id} is not listed.`)
    return position
  }

  return {
    rows: (): readonly ServiceCustomer[] => rows,
    /** Inserts a customer, who is not listed, in the order of the list. */
    insert: (customer: ServiceCustomer): void => {
      rows.splice(placeFor(customer, rows, order), 0, customer)
    },
    /** Deletes a customer. Throws a UsageError when it is not listed. */
    delete: (id: string): void => {
      rows.splice(positionOf(id), 1)
    },
    /** Changes the fields of a listed customer, which moves to its place in the order of the list. */
    change: (customer: ServiceCustomer): void => {
      rows.splice(positionOf(customer.id), 1)
      rows.splice(placeFor(customer, rows, order), 0, customer)
    },
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

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
