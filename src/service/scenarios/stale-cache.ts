import type { ListEnvelope } from '../listing.ts'
import { arriveLast } from './arrivals.ts'
import { movingList } from './moving-list.ts'
import { isUnfiltered } from './scenario.ts'
import type { Play, Scenario, Stage } from './scenario.ts'

/** The service answers correctly, but a cache in between repeats old answers. */
export const STALE_CACHE: readonly Scenario[] = [
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
