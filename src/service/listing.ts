import type { ServiceCustomer } from './customers.ts'

/** What is wrong with a query: messages by field. */
export type Details = Record<string, string[]>

/** The query of a request for the list, with defaults filled in. */
export type ListQuery = { page: number; perPage: number; search: string; language: string }

export type ListEnvelope<Row = ServiceCustomer> = ReturnType<typeof envelopeOf<Row>>

/** The envelope of the rows on one page, of `total` on all pages; for the links, `address` is the URL of the list, without a query for a page. */
export function envelopeOf<Row>(
  data: readonly Row[],
  total: number,
  { query: { page, perPage }, address }: { query: ListQuery; address: string },
) {
  const start = (page - 1) * perPage
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const link = (number: number): string => `${address}${address.includes('?') ? '&' : '?'}page=${number}`
  return {
    success: true as const,
    data,
    meta: {
      current_page: page,
      from: data.length === 0 ? null : start + 1,
      last_page: lastPage,
      per_page: perPage,
      to: data.length === 0 ? null : start + data.length,
      total,
    },
    links: {
      first: link(1),
      last: link(lastPage),
      prev: page > 1 ? link(page - 1) : null,
      next: page < lastPage ? link(page + 1) : null,
    },
  }
}

/** The query parameters, or the details of a 422 if one is invalid. The last of repeated parameters counts. */
export function readListQuery(parameters: URLSearchParams): { query: ListQuery } | { details: Details } {
  const text = (name: string): string => parameters.getAll(name).at(-1)?.trim() ?? ''
  const [size, asked] = [text('per_page') || '15', Number(text('page'))]
  const perPage = /^\+?\d+$/.test(size) ? Number(size) : 0
  // A number over the maximum is refused; the specification leaves the answer to it open.
  if (perPage < 1 || perPage > 100) return { details: { per_page: [NO_SIZE] } }
  // Page 1 for a text that is not a page number, which such services do not refuse.
  const page = /^\+?[1-9]\d*$/.test(text('page')) && Number.isSafeInteger(asked) ? asked : 1
  return { query: { page, perPage, search: text('search'), language: text('language') } }
}

const NO_SIZE = 'The per page field must be an integer from 1 to 100.'

export function matching(customers: readonly ServiceCustomer[], { search, language }: ListQuery) {
  if (search === '' && language === '') return customers
  const wanted = search.toLowerCase()
  const mentions = ({ name, username, email }: ServiceCustomer) =>
    [name, username, email].some((value) => value.toLowerCase().includes(wanted))
  return customers.filter((row) => (language === '' || row.language === language) && mentions(row))
}
