import { movingList } from './moving-list.ts'
import type { Scenario, Stage, Turn } from './scenario.ts'
import type { Answer, Serve } from '../answer.ts'

/** Page sizes, and answers beyond the last page. The list is at rest and every page of it is true. */
export const SIZES_AND_ENDS: readonly Scenario[] = [
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
