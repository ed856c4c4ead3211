import { didYouMean } from '../../config/suggestion.ts'
import { UsageError } from '../../errors/errors.ts'
import { ANSWERS_THAT_BREAK } from './answers-that-break.ts'
import { FALSE_PROOFS } from './false-proofs.ts'
import { LISTS_IN_OTHER_ORDERS } from './lists-in-other-orders.ts'
import { LISTS_THAT_MOVE } from './lists-that-move.ts'
import { ORDERS_THAT_CHANGE } from './orders-that-change.ts'
import { ORDERS_WITHOUT_A_TIEBREAK } from './orders-without-a-tiebreak.ts'
import { PAGES_THAT_LIE } from './pages-that-lie.ts'
import { type Scenario, isUnfiltered, type Play, type Stage, type Turn } from './scenario.ts'
import type { ListEnvelope } from '../listing.ts'
import { arriveLast } from './arrivals.ts'
import { movingList } from './moving-list.ts'
import type { ServiceCustomer } from '../customers.ts'
import type { Answer, Serve } from '../answer.ts'

/** Page sizes, and answers beyond the last page. The list is at rest and every page of it is true. */
const SIZES_AND_ENDS: readonly Scenario[] = [
  {
    name: 'caps-50',
    says: 'A per_page over 50 is served as 50, and the answer reports 50.',
    create: answering(({ query }, serve) => page(serve({ ...query, perPage: Math.min(query.perPage, 50) }))),
  },
  {
    name: 'fixed-sizes',
    says: 'Any per_page except 15, 25, 50 and 100 is refused with 422.',
    create: answering(({ query }, serve) => {
      if (FIXED_SIZES.includes(query.perPage)) return page(serve(query))
      const details = { per_page: ['The selected per page is invalid.'] }
      return { kind: 'error', status: 422, message: 'A query parameter is invalid.', details }
    }),
  },
  {
    name: 'clamp-beyond-last',
    says: 'A page beyond the last is answered with the last page, under its own number.',
    create: answering(({ query }, serve) => {
      const honest = serve(query)
      const { last_page } = honest.meta
      return page(query.page > last_page ? serve({ ...query, page: last_page }) : honest)
    }),
  },
  {
    name: '404-beyond-last',
    says: 'A page beyond the last is answered 404.',
    create: answering(({ query }, serve) => {
      const honest = serve(query)
      if (query.page <= honest.meta.last_page) return page(honest)
      return { kind: 'error', status: 404, message: 'There is no such page.' }
    }),
  },
]

const FIXED_SIZES: readonly number[] = [15, 25, 50, 100]

function answering(answer: (turn: Turn, serve: Serve) => Answer) {
  return ({ customers }: Stage) => ({ list: movingList(customers), answer })
}

function page(envelope: ReturnType<Serve>): Answer {
  return { kind: 'page', envelope }
}

/** Makes the record that is sent instead of a customer's. */
type Disguise = (customer: ServiceCustomer) => unknown

/** The list is at rest and every page true, but records are not what the specification says. */
const RECORDS_OF_MANY_KINDS: readonly Scenario[] = [
  {
    name: 'mixed-types',
    says: 'Records have numbers for text, unknown fields, nulls, missing fields, upper-case ids and odd dates; every fiftieth has no id.',
    create: ({ customers }) => {
      const nameless = new Set(customers.filter((_, index) => index % 50 === 49).map(({ id }) => id))
      const disguises = new Map(customers.map(({ id }, index) => [id, DISGUISES[index % DISGUISES.length]]))
      const disguised = (customer: ServiceCustomer): unknown => {
        if (nameless.has(customer.id)) return { ...customer, id: undefined }
        return disguises.get(customer.id)?.(customer) ?? customer
      }
      return {
        list: movingList(customers),
        nameless,
        answer: ({ query }, serve) => {
          const honest = serve(query)
          return { kind: 'page', envelope: { ...honest, data: honest.data.map(disguised) } }
        },
      }
    },
  },
]

/** Used in turn down the list. Undefined fields are not sent. */
const DISGUISES: readonly Disguise[] = [
  (customer) => customer,
  (customer) => ({ ...customer, phone: Number(customer.phone.replace(/\D/g, '')) }),
  (customer) => ({ ...customer, loyalty_tier: 'gold', tags: ['made-up'], score: 7.5 }),
  (customer) => ({ ...customer, company_name: null, address: null }),
  (customer) => ({ ...customer, timezone: undefined, language: undefined }),
  (customer) => ({ ...customer, id: customer.id.toUpperCase() }),
  (customer) => ({ ...customer, created_at: customer.created_at.slice(0, 19).replace('T', ' ') }),
  (customer) => ({ ...customer, created_at: `${customer.created_at.slice(0, 19)}+00:00` }),
  (customer) => ({ ...customer, created_at: 'some time in spring' }),
  (customer) => ({ ...customer, created_at: Date.parse(customer.created_at) / 1000 }),
  (customer) => ({ ...customer, email: '', username: true }),
  // Half of a surrogate pair, as careless cutting leaves it.
  (customer) => ({ ...customer, name: `${customer.name} \uD83D` }),
  (customer) => ({ ...customer, email: `${customer.username}@localhost`, created_at: null }),
]

/** The service answers correctly, but a cache in between repeats old answers. */
const STALE_CACHE: readonly Scenario[] = [
  {
    name: 'stale-cache',
    says: 'Pages of a hundred come from a cache as they were first requested, three days old by Age and Date; other sizes do not.',
    create: behindCache,
  },
]

const THREE_DAYS_SECONDS = 259_200
/** The only size that the cache keeps. */
const KEPT_SIZE = 100

function behindCache({ customers, newcomer }: Stage): Play {
  const list = movingList(customers)
  const kept = new Map<number, ListEnvelope>()
  return {
    list,
    before: ({ count }) => {
      // A few changes a night, so that the cached list soon lacks a customer.
      if (count % 5 === 0 && list.rows().length < customers.length * 2 + 100) arriveLast({ list, newcomer })
    },
    answer: ({ query }, serve) => {
      const isKept = query.perPage === KEPT_SIZE && isUnfiltered(query)
      const before = isKept ? kept.get(query.page) : undefined
      if (before !== undefined) return { kind: 'page', envelope: before, ageSeconds: THREE_DAYS_SECONDS }
      const envelope = serve(query)
      if (isKept) kept.set(query.page, envelope)
      return { kind: 'page', envelope }
    },
  }
}

/** The list is at rest and every answer is true, but the service limits or refuses requests. */
const LIMITS_AND_CLOCKS: readonly Scenario[] = [
  {
    name: 'throttle',
    says: 'Each organization may make five requests a second, and is answered 429 with Retry-After beyond that.',
    service: { rateLimit: { requests: 5, windowMs: 1000 } },
  },
  {
    name: 'shared-throttle',
    says: 'All organizations together may make five requests a second, and are answered 429 with Retry-After beyond that.',
    service: { sharedRateLimit: { requests: 5, windowMs: 1000 } },
  },
  {
    name: 'clock-skew',
    says: 'The clock of the service is ten minutes ahead, and requests signed by any other clock are refused.',
    service: { clockAheadMs: 600_000 },
  },
]

const STILL: Scenario = {
  name: 'still',
  says: 'The list is at rest and every answer is correct, as without a scenario.',
}

/** Every scenario, harmless ones first. */
export const SCENARIOS: readonly Scenario[] = [
  STILL,
  ...LISTS_THAT_MOVE,
  ...ORDERS_THAT_CHANGE,
  ...LISTS_IN_OTHER_ORDERS,
  ...ORDERS_WITHOUT_A_TIEBREAK,
  ...SIZES_AND_ENDS,
  ...PAGES_THAT_LIE,
  ...FALSE_PROOFS,
  ...ANSWERS_THAT_BREAK,
  ...RECORDS_OF_MANY_KINDS,
  ...LIMITS_AND_CLOCKS,
  ...STALE_CACHE,
]

/** The scenario of that name. Throws a UsageError, with the name that was probably meant, when there is none. */
export function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS.find((known) => known.name === name)
  if (scenario) return scenario
  const names = SCENARIOS.map((known) => known.name)
  throw new UsageError(
    `There is no scenario "${name}"${didYouMean(name, names)}. 'customer-mirror sandbox --list-scenarios' lists them.`,
  )
}
