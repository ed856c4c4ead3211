import { setTimeout as sleep } from 'node:timers/promises'
import type { MiddlewareHandler } from 'hono'
import { listen } from '../../src/http/server.ts'
import { BASE_PATH, createService, type ServiceEnv, type ServiceOrganization } from '../../src/service/app.ts'
import {
  below,
  generateCustomers,
  isoSecond,
  pick,
  type Random,
  seededRandom,
  type ServiceCustomer,
} from '../../src/service/customers.ts'
import { byName, movingList, newcomers } from '../../src/service/scenarios/scenario.ts'
import { DEFAULT_PRESET, HEADERS, recipeOf } from '../../src/signing/signing.ts'

/** A request for the list of an organization, with the life of the worker that sent it. Times in Unix milliseconds. */
export type SeenRequest = { organization: string; life: string; atMs: number }

/** A report of a night, as it came. */
export type Report = { id: string; body: string }

export type SoakService = {
  origin: string
  baseUrl: string
  lists: ReadonlyMap<string, ListedCustomers>
  requests: SeenRequest[]
  /** The reports of nights that it got, those that it did not take included. */
  reports: Report[]
  /** Answers 503 to every request while it is set. */
  fails: boolean
  /** Whether single answers fail at random. */
  isFlaky: boolean
  close: () => Promise<void>
}

/** An organization of the soak. */
export type Played = {
  id: string
  customers: number
  pageSize?: number
  isByName?: boolean
  /** The most requests in a second. */
  perSecond?: number
  /** The name of the limit that it shares with others. */
  shares?: string
}

const ALWAYS: readonly Played[] = [
  { id: 'acme', customers: 1200, pageSize: 20 },
  { id: 'globex', customers: 2500, pageSize: 30 },
  { id: 'initech', customers: 800, isByName: true },
  { id: 'hooli', customers: 1500, perSecond: 8 },
  { id: 'umbra', customers: 600, shares: 'both' },
  { id: 'vandelay', customers: 900, shares: 'both' },
]

/** Those that are always played, and others with short lists, so many in all. */
export function organizationsOf(count = ALWAYS.length): readonly Played[] {
  const others = Array.from({ length: count - ALWAYS.length }, (_, index) => index)
  return [...ALWAYS, ...others.map((index) => ({ id: `other${lettersOf(index)}`, customers: 150 + index * 5 }))]
}

function lettersOf(index: number): string {
  return String.fromCodePoint(97 + Math.floor(index / 26), 97 + (index % 26))
}

const SHARED_PER_SECOND = 12
const LATENCY_MS = 150

/** The key of an organization, as the worker with this life sends it: the service of the soak sees who asked. */
export function keyFor(organization: string, life: string): string {
  return `soak_key_${organization}~${life}`
}

export function secretOf(organization: string): string {
  return `soak_secret_${organization}`
}

/** Starts the service on a free port of 127.0.0.1. Its faults and the changes of its lists follow from the seed. */
export async function startService(
  organizations: readonly Played[],
  seed: string,
  now: () => number,
): Promise<SoakService> {
  const nowMs = now()
  const lists = new Map(
    organizations.map(({ id, customers: count, isByName = false }) => [
      id,
      listCustomers({ seed: `${seed} ${id}`, count, isByName, nowMs }),
    ]),
  )
  const service = { lists, requests: [] as SeenRequest[], reports: [] as Report[], fails: false, isFlaky: true }
  const app = createService({
    now,
    sharedRateLimit: { requests: SHARED_PER_SECOND, windowMs: 1000 },
    organizations: organizations.map((played) => served(played, lists)),
    around: [between(service, { header: HEADERS.key, seed, now })],
  })
  const { origin, close } = await listen(app, { host: '127.0.0.1', port: 0 })
  return Object.assign(service, { origin, baseUrl: origin + BASE_PATH, close })
}

function served({ id, perSecond, shares }: Played, lists: SoakService['lists']): ServiceOrganization {
  return {
    id,
    recipe: recipeOf(DEFAULT_PRESET),
    apiKey: keyFor(id, ''),
    secret: secretOf(id),
    customers: { list: () => lists.get(id)?.rows() ?? [] },
    ...(shares === undefined && { rateLimit: { requests: perSecond ?? 1000, windowMs: 1000 } }),
  }
}

type Between = { header: string; seed: string; now: () => number }

/** Notes which worker asks, and lets some requests fail. */
function between(
  service: Pick<SoakService, 'requests' | 'reports' | 'fails' | 'isFlaky'>,
  { header, seed, now }: Between,
): MiddlewareHandler<ServiceEnv> {
  const random = seededRandom(`${seed} faults`)
  return async (c, next) => {
    await sleep(LATENCY_MS)
    if (c.req.path === HOOK) {
      service.reports.push({ id: c.req.header('webhook-id') ?? '', body: await c.req.text() })
      return c.body(null, service.fails ? 503 : 204)
    }
    const [, organization, life] = KEY.exec(c.req.header(header) ?? '') ?? []
    if (organization === undefined || life === undefined) return next()
    service.requests.push({ organization, life, atMs: now() })
    c.req.raw.headers.set(header, keyFor(organization, ''))
    const draw = service.isFlaky ? below(random, 1000) : 1000
    if (service.fails || draw < 5) return c.text('The service is not available.', 503)
    if (draw < 8) return c.text('The service failed.', 500)
    if (draw < 12) return c.text('Too many requests.', 429, { 'Retry-After': '1' })
    if (draw < 15) c.env.outgoing?.destroy()
    if (draw < 18) await sleep(SLOW_MS)
    return next()
  }
}

/** Where workers report nights. */
export const HOOK = '/hook'

const KEY = /^soak_key_([a-z]+)~(.*)$/
const SLOW_MS = 4000

/** When a customer was listed, in Unix milliseconds; `toMs` is infinite while it is. */
export type Stay = { fromMs: number; toMs: number }

/** The list of one organization, and all that was ever true of it. */
type ListedCustomers = {
  rows: () => readonly ServiceCustomer[]
  /** Makes one change: a customer is new, returns, is changed or leaves. */
  change: (nowMs: number) => void
  /** The stays of each customer that was ever listed. */
  stays: ReadonlyMap<string, readonly Stay[]>
}

/** A list in order of creation, or by name, whose changes follow from the seed. */
function listCustomers({
  seed,
  count,
  isByName,
  nowMs,
}: {
  seed: string
  count: number
  isByName: boolean
  nowMs: number
}): ListedCustomers {
  const random = seededRandom(`${seed} changes`)
  const newcomer = newcomers(seed)
  const customers = generateCustomers({ seed, count })
  const list = isByName ? movingList(customers.toSorted(byName), byName) : movingList(customers)
  const stays = new Map(customers.map(({ id }): [string, Stay[]] => [id, [{ fromMs: nowMs, toMs: Infinity }]]))
  const gone: ServiceCustomer[] = []

  const insert = (customer: ServiceCustomer, atMs: number): void => {
    list.insert(customer)
    stays.set(customer.id, [...(stays.get(customer.id) ?? []), { fromMs: atMs, toMs: Infinity }])
  }
  const leave = (customer: ServiceCustomer, atMs: number): void => {
    list.delete(customer.id)
    gone.push(customer)
    const stay = stays.get(customer.id)?.at(-1)
    if (stay !== undefined) stay.toMs = atMs
  }
  return {
    rows: list.rows,
    stays,
    change: (atMs) => {
      const some = list.rows()[below(random, list.rows().length)]
      const draw = below(random, 10)
      if (draw < 3) insert(newcomer(isoSecond(atMs)), atMs)
      else if (draw < 7 && some !== undefined) list.change(edited(some, random))
      else if (draw < 8 && gone.length > 0) insert(...returning(gone, random, atMs))
      else if (some !== undefined) leave(some, atMs)
    },
  }
}

function returning(gone: ServiceCustomer[], random: Random, atMs: number): [ServiceCustomer, number] {
  const [customer] = gone.splice(below(random, gone.length), 1)
  if (customer === undefined) throw new Error('No customer has left')
  return [customer, atMs]
}

/** The customer with one field changed, which is not the one that lists are sorted by. */
function edited(customer: ServiceCustomer, random: Random): ServiceCustomer {
  const number = below(random, 1_000_000)
  const field = pick(random, ['phone', 'address', 'company_name', 'email'] as const)
  const value = field === 'email' ? `moved.${number}.${customer.username}@example.com` : `${customer[field]} ${number}`
  return { ...customer, [field]: value }
}
