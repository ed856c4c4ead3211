import type { Answer, AnswerList, Serve } from '../answer.ts'
import type { ServiceOrganization } from '../app.ts'
import { generateCustomers, isoSecond, type ServiceCustomer } from '../customers.ts'
import type { ListEnvelope, ListQuery } from '../listing.ts'
import { type Random, seededRandom } from '../random.ts'
import type { ServiceLimit } from '../rate-limit.ts'
import { FIRST_DAY, type MovingList, movingList, type Truth } from './moving-list.ts'

/**
 * One wrong behaviour of a service. It depends only on its seed, on requests and, where it says so, on the clock it is given, so that
 * it can be repeated. Without a rule, the list is at rest and every answer correct.
 */
export type Scenario = {
  name: string
  /** Its description, in one sentence. */
  says: string
  /** Settings of the whole service. */
  service?: { rateLimit?: ServiceLimit; sharedRateLimit?: ServiceLimit; clockAheadMs?: number }
  /** The list as it starts; without it, in order of creation. */
  list?: (stage: Stage) => MovingList
  /** Runs just before a request is answered. */
  change?: (play: Play) => void
  /** The order in which a request sees the rows. */
  arrange?: (rows: readonly ServiceCustomer[], query: ListQuery, play: Play) => readonly ServiceCustomer[]
  /** Whether `arrange` lets a customer keep its place among those for which this is true too; without it, none of them. */
  keepsPlace?: (customer: ServiceCustomer, stage: Stage) => boolean
  /** A wrong answer, in place of the correct one. */
  answer?: (play: Play, serve: Serve) => Answer
  /** Whether the id of the customer who was at this place at the start is never sent. */
  isNameless?: (place: number) => boolean
}

/** The material of a scenario. */
export type Stage = {
  /** In order of creation, oldest first, and the place of each. */
  customers: readonly ServiceCustomer[]
  places: ReadonlyMap<string, number>
  random: Random
  /** A number that stays the same, drawn when it is first asked for. */
  readonly salt: number
  /** Makes a new customer. */
  newcomer: (created_at: string) => ServiceCustomer
  /** The duration of a slow answer. */
  dripMs: number
}

/** A scenario under way, with the valid and authenticated request that is answered now. */
export type Play = Stage & {
  list: MovingList
  /** Lists a customer who was created after all the others, unless the list has grown too long: a sandbox may run for days. */
  arrive: () => void
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

/** Whether a request asks for the whole list, without a filter. */
export function isUnfiltered({ search, language }: ListQuery): boolean {
  return search === '' && language === ''
}

/** One organization of a sandbox during a scenario: its input to the service, and the true state of its list. */
export type Staged = Pick<ServiceOrganization, 'customers' | 'answer'> & { list: MovingList; truth: Truth }

type StageOptions = {
  scenario: Scenario
  customers: readonly ServiceCustomer[]
  /** The seed of every random choice. */
  seed: string
  dripMs: number
  /** The service's clock, in Unix milliseconds. */
  now: () => number
}

/** Starts a scenario for one organization. */
export function stageOrganization({ scenario, customers, seed, dripMs, now }: StageOptions): Staged {
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
    ...{ list, arrive: arrivals(stage, list), remembered: new Map(), query: FIRST_PAGE },
    ...{ count: 0, read: 0, sinceMs: 0, elapsedMs: 0 },
  })
  return { list, truth: truthOf(scenario, play), ...answersOf(scenario, play, now) }
}

const FIRST_PAGE: ListQuery = { page: 1, perPage: 1, search: '', language: '' }

function answersOf({ change, arrange, answer }: Scenario, play: Play, now: () => number) {
  const startMs = now()
  const answerTurn: AnswerList = (query, serve) => {
    const elapsedMs = now() - startMs
    const read = play.count === 0 ? 0 : Math.max(play.read, play.query.page * play.query.perPage)
    Object.assign(play, { query, count: play.count + 1, read, sinceMs: elapsedMs - play.elapsedMs, elapsedMs })
    change?.(play)
    return answer?.(play, serve) ?? { kind: 'page', envelope: serve(query) }
  }
  const rowsFor = (query: ListQuery) => {
    const rows = play.list.rows()
    return play.count === 0 ? rows : (arrange?.(rows, query, play) ?? rows)
  }
  return { customers: { list: rowsFor }, answer: answerTurn }
}

/** The truth without ids that are never sent: no reader can know them. Customers that are arranged anew keep no place. */
function truthOf({ arrange, keepsPlace = () => arrange === undefined, isNameless }: Scenario, play: Play): Truth {
  const { truth, rows } = play.list
  const nameless = new Set(play.customers.flatMap(({ id }, place) => (isNameless?.(place) === true ? [id] : [])))
  const restless = () => new Set(rows().flatMap((row) => (keepsPlace(row, play) ? [] : [row.id])))
  return {
    mark: truth.mark,
    lived: (since) => truth.lived(since).difference(nameless),
    stayed: (since) => truth.stayed(since).difference(nameless).difference(restless()),
    moved: (since) => truth.moved(since).difference(nameless).union(restless()),
    listed: () => truth.listed().difference(nameless),
  }
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

function arrivals({ customers, newcomer }: Stage, list: MovingList): () => void {
  let createdMs = Date.parse(customers.at(-1)?.created_at ?? FIRST_DAY)
  return () => {
    if (list.rows().length >= customers.length * 2 + 100) return
    createdMs += 60_000
    list.insert(newcomer(isoSecond(createdMs)))
  }
}
