import type { Answer } from '../answer.ts'
import type { ServiceCustomer } from '../customers.ts'
import { envelopeOf, type ListEnvelope, type ListQuery } from '../listing.ts'
import { isUnfiltered, type Play, type Scenario } from './scenario.ts'

/** Page sizes, wrong and odd answers, failures, limits, another clock and a cache. The list is at rest, except where they say so. */
export const WRONG_ANSWERS: readonly Scenario[] = [
  {
    name: 'caps-50',
    says: 'A per_page over 50 is served as 50, and the answer reports 50.',
    answer: ({ query }, serve) => page(serve({ ...query, perPage: Math.min(query.perPage, 50) })),
  },
  {
    name: 'fixed-sizes',
    says: 'Any per_page except 15, 25, 50 and 100 is refused with 422.',
    answer: ({ query }, serve) => {
      if ([15, 25, 50, 100].includes(query.perPage)) return page(serve(query))
      const details = { per_page: ['The selected per page is invalid.'] }
      return { kind: 'error', status: 422, message: 'A query parameter is invalid.', details }
    },
  },
  {
    name: 'clamp-beyond-last',
    says: 'A page beyond the last is answered with the last page, under its own number.',
    answer: ({ query }, serve) => {
      const { last_page } = serve(query).meta
      return page(serve({ ...query, page: Math.min(query.page, last_page) }))
    },
  },
  {
    name: '404-beyond-last',
    says: 'A page beyond the last is answered 404.',
    answer: ({ query }, serve) => {
      const honest = serve(query)
      if (query.page <= honest.meta.last_page) return page(honest)
      return { kind: 'error', status: 404, message: 'There is no such page.' }
    },
  },
  {
    name: 'empty-page',
    says: 'Once, a page in the middle of the list is answered without a single customer.',
    answer: onceInTheMiddle(({ honest, play }) => altered(honest, play.query, { share: 0 })),
  },
  {
    name: 'short-page',
    says: 'Once, a page in the middle of the list has only the first three fifths of its customers.',
    answer: onceInTheMiddle(({ honest, play }) => altered(honest, play.query, { share: 0.6 })),
  },
  {
    name: 'wrong-page',
    says: "Once, a stale cache answers a page in the middle with the page before it, under that page's own number.",
    answer: onceInTheMiddle(({ before }) => page(before())),
  },
  {
    name: 'repeat-page',
    says: 'Once, a page in the middle carries the customers of the page before, under its own number.',
    answer: onceInTheMiddle(({ honest, before }) => page({ ...honest, data: before().data })),
  },
  {
    name: 'page-1-always',
    says: 'Every page is answered with page 1, under the number 1.',
    answer: ({ query }, serve) => page(serve({ ...query, page: 1 })),
  },
  {
    name: 'page-1-renumbered',
    says: 'Every page up to the last carries the customers of page 1, under the requested number.',
    answer: ({ query }, serve) => {
      const honest = serve(query)
      if (query.page > honest.meta.last_page) return page(honest)
      return page({ ...honest, data: serve({ ...query, page: 1 }).data })
    },
  },
  {
    name: 'growing-last-page',
    says: 'The list has no end: two more pages of new customers are appended before a reader gets there.',
    change: (play) => {
      const { query } = play
      if (!isUnfiltered(query)) return
      const missing = (query.page + 2) * query.perPage - play.list.rows().length
      // A request for page 1,000,000 must not fill the memory.
      for (let count = 0; count < Math.min(missing, 3 * query.perPage); count += 1) play.arrive(Infinity)
    },
  },
  {
    name: 'total-high',
    says: 'The total counts 250 customers more than there are, and the pages it promises are empty.',
    answer: ({ query }, serve) => altered(serve(query), query, { claim: (total) => total + 250 }),
  },
  {
    name: 'total-low',
    says: 'The total counts only three fifths of the customers; the others are on pages beyond the last.',
    answer: ({ query }, serve) => altered(serve(query), query, { claim: (total) => Math.floor(total * 0.6) }),
  },
  {
    name: 'capped-total',
    says: 'The total is never over 10,000 (1,000 in a list of up to 10,000), and customers behind it are on no page; a search finds them.',
    arrange: (rows, query, { customers }) =>
      isUnfiltered(query) ? rows.slice(0, customers.length > 10_000 ? 10_000 : 1000) : rows,
  },
  {
    name: 'capped-anywhere',
    says: 'Newest first; three customers come every night, and the service counts and shows no more than at first: the oldest are on no page.',
    change: (play) => {
      if (play.sinceMs > NIGHT_MS) for (let come = 0; come < 3; come += 1) play.arrive()
    },
    arrange: (rows, _query, { customers }) => rows.toReversed().slice(0, customers.length),
  },
  {
    name: 'unequal-replicas',
    says: 'Oldest first; every other request is answered by a database that lacks the newest thirty customers.',
    arrange: (rows, _query, { count }) => (count % 2 === 0 ? rows.slice(0, -30) : rows),
  },
  {
    name: 'poison',
    says: 'Every page that contains one customer in the middle of the list is answered 500, for ever.',
    answer: ({ query, customers }, serve) => {
      const honest = serve(query)
      const poison = customers[Math.floor(customers.length / 2)]?.id
      return honest.data.some(({ id }) => id === poison) ? FAILED : page(honest)
    },
  },
  {
    name: 'flaky-500',
    says: 'Every third request is answered 500; its retry succeeds.',
    answer: everyThird(() => FAILED),
  },
  {
    name: 'truncate',
    says: 'Every third answer ends in the middle of its JSON with the connection closed; its retry succeeds.',
    answer: everyThird((envelope) => ({ kind: 'cut', envelope })),
  },
  {
    name: 'slow-drip',
    says: 'Once, the answer with a page in the middle of the list arrives slowly, over forty seconds.',
    answer: onceInTheMiddle(({ honest, play }) => ({ kind: 'drip', envelope: honest, overMs: play.dripMs })),
  },
  {
    name: 'html-200',
    says: 'Once, a page in the middle of the list is answered with a maintenance page in HTML at status 200.',
    answer: onceInTheMiddle(() => ({ kind: 'html', text: MAINTENANCE })),
  },
  {
    name: 'mixed-types',
    says: 'Records have numbers for text, unknown fields, nulls, missing fields, upper-case ids and odd dates; every fiftieth has no id.',
    answer: ({ query, places }, serve) => {
      const honest = serve(query)
      const disguised = (customer: ServiceCustomer): unknown => {
        const place = places.get(customer.id)
        if (place === undefined) return customer
        return place % 50 === 49 ? { ...customer, id: undefined } : DISGUISES[place % DISGUISES.length]?.(customer)
      }
      return { kind: 'page', envelope: { ...honest, data: honest.data.map(disguised) } }
    },
  },
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
  {
    name: 'stale-cache',
    says: 'Pages of a hundred come from a cache as they were first requested, three days old by Age and Date; other sizes do not.',
    change: (play) => {
      // A few changes a night, so that the cached list soon lacks a customer.
      if (play.count % 5 === 0) play.arrive()
    },
    answer: ({ query, remembered }, serve) => {
      if (query.perPage !== 100 || !isUnfiltered(query)) return page(serve(query))
      const before = remembered.get(`${query.page}`)
      if (before !== undefined) return { kind: 'page', envelope: before, headers: { Age: '259200' } }
      const envelope = serve(query)
      remembered.set(`${query.page}`, envelope)
      return page(envelope)
    },
  },
]

const NIGHT_MS = 6 * 3_600_000

function page(envelope: ListEnvelope): Answer {
  return { kind: 'page', envelope }
}

type Wrong = (facts: { honest: ListEnvelope; before: () => ListEnvelope; play: Play }) => Answer

/** One wrong answer, to the first request for a page in the middle of the list that is neither the first nor the last page; then correct ones. */
function onceInTheMiddle(wrong: Wrong): NonNullable<Scenario['answer']> {
  return (play, serve) => {
    const { query } = play
    const honest = serve(query)
    const { total, last_page } = honest.meta
    const holdsMiddle = query.page === Math.floor(Math.floor(total / 2) / query.perPage) + 1
    const isMeant = holdsMiddle && isUnfiltered(query) && query.page > 1 && query.page < last_page
    if (play.remembered.has('once') || !isMeant) return page(honest)
    play.remembered.set('once', honest)
    return wrong({ honest, before: () => serve({ ...query, page: query.page - 1 }), play })
  }
}

/** Breaks every third answer, but never the same page twice before a correct answer. */
function everyThird(breakIt: (honest: ListEnvelope) => Answer): NonNullable<Scenario['answer']> {
  return ({ query, count, remembered }, serve) => {
    const honest = serve(query)
    const asked = JSON.stringify(query)
    if (remembered.delete(asked) || count % 3 !== 0) return page(honest)
    remembered.set(asked, honest)
    return breakIt(honest)
  }
}

type Alteration = { share?: number; claim?: (total: number) => number }

/** The page with this share of its rows, or with another total, and with all that follows from that. */
function altered(honest: ListEnvelope, query: ListQuery, { share = 1, claim = (total) => total }: Alteration): Answer {
  const { data, meta, links } = honest
  const address = links.first.replace(/\?page=1$/, '')
  return page(envelopeOf(data.slice(0, Math.ceil(data.length * share)), claim(meta.total), { query, address }))
}

const FAILED: Answer = { kind: 'error', status: 500, message: 'The service failed to answer this request.' }

const MAINTENANCE = '<!doctype html><html lang="en"><title>Maintenance</title><h1>We will be back soon</h1></html>'

/** The record that is sent instead of a customer's, in turn down the list. Undefined fields are not sent. */
const DISGUISES: readonly ((customer: ServiceCustomer) => unknown)[] = [
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
