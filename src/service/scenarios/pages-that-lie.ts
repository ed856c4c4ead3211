import type { Answer } from '../answer.ts'
import type { ListEnvelope } from '../listing.ts'
import { arriveLast } from './arrivals.ts'
import { onceInTheMiddle } from './middle-page.ts'
import { movingList } from './moving-list.ts'
import { isUnfiltered } from './scenario.ts'
import type { Scenario } from './scenario.ts'

/** The answers are well formed but wrong. The list is at rest, except for one that never ends. */
export const PAGES_THAT_LIE: readonly Scenario[] = [
  {
    name: 'empty-page',
    says: 'Once, a page in the middle of the list is answered without a single customer.',
    create: onceInTheMiddle((honest) => shortened(honest, 0)),
  },
  {
    name: 'short-page',
    says: 'Once, a page in the middle of the list has only the first three fifths of its customers.',
    create: onceInTheMiddle((honest) => shortened(honest, Math.ceil(honest.data.length * 0.6))),
  },
  {
    name: 'wrong-page',
    says: "Once, a stale cache answers a page in the middle with the page before it, under that page's own number.",
    create: onceInTheMiddle((_, query, serve) => page(serve({ ...query, page: query.page - 1 }))),
  },
  {
    name: 'repeat-page',
    says: 'Once, a page in the middle carries the customers of the page before, under its own number.',
    create: onceInTheMiddle((honest, query, serve) => {
      return page({ ...honest, data: serve({ ...query, page: query.page - 1 }).data })
    }),
  },
  {
    name: 'page-1-always',
    says: 'Every page is answered with page 1, under the number 1.',
    create: ({ customers }) => ({
      list: movingList(customers),
      answer: ({ query }, serve) => page(serve({ ...query, page: 1 })),
    }),
  },
  {
    name: 'page-1-renumbered',
    says: 'Every page up to the last carries the customers of page 1, under the requested number.',
    create: ({ customers }) => ({
      list: movingList(customers),
      answer: ({ query }, serve) => {
        const honest = serve(query)
        return page(
          query.page > honest.meta.last_page ? honest : { ...honest, data: serve({ ...query, page: 1 }).data },
        )
      },
    }),
  },
  {
    name: 'growing-last-page',
    says: 'The list has no end: two more pages of new customers are appended before a reader gets there.',
    create: ({ customers, newcomer }) => {
      const list = movingList(customers)
      return {
        list,
        before: ({ query }) => {
          if (!isUnfiltered(query)) return
          const missing = (query.page + 2) * query.perPage - list.rows().length
          // A request for page 1,000,000 must not fill the memory.
          for (let count = 0; count < Math.min(missing, 3 * query.perPage); count += 1) arriveLast({ list, newcomer })
        },
      }
    },
  },
  {
    name: 'total-high',
    says: 'The total counts 250 customers more than there are, and the pages it promises are empty.',
    create: ({ customers }) => ({
      list: movingList(customers),
      answer: ({ query }, serve) => page(claiming(serve(query), (total) => total + 250)),
    }),
  },
  {
    name: 'total-low',
    says: 'The total counts only three fifths of the customers; the others are on pages beyond the last.',
    create: ({ customers }) => ({
      list: movingList(customers),
      answer: ({ query }, serve) => page(claiming(serve(query), (total) => Math.floor(total * 0.6))),
    }),
  },
  {
    name: 'capped-total',
    says: 'The total is never over 10,000 (1,000 in a list of up to 10,000), and customers behind it are on no page; a search finds them.',
    create: ({ customers }) => {
      const cap = customers.length > 10_000 ? 10_000 : 1000
      return {
        list: movingList(customers),
        keepsPlace: () => true,
        arrange: (rows, { query }) => (isUnfiltered(query) ? rows.slice(0, cap) : rows),
      }
    },
  },
]

function page(envelope: ListEnvelope): Answer {
  return { kind: 'page', envelope }
}

function shortened({ data, meta, ...rest }: ListEnvelope, length: number): Answer {
  const { from } = meta
  const to = from === null || length === 0 ? null : from + length - 1
  return page({ ...rest, data: data.slice(0, length), meta: { ...meta, from: length === 0 ? null : from, to } })
}

/** The page with another total, and with all meta values that follow from it. */
function claiming({ meta, links, ...rest }: ListEnvelope, claim: (total: number) => number): ListEnvelope {
  const total = claim(meta.total)
  const last_page = Math.max(1, Math.ceil(total / meta.per_page))
  const link = (number: number): string => links.first.replace(/=1$/, `=${number}`)
  return {
    ...rest,
    meta: { ...meta, total, last_page },
    links: {
      ...links,
      last: link(last_page),
      next: meta.current_page < last_page ? link(meta.current_page + 1) : null,
    },
  }
}
