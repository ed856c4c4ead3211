import { type Customer, TEXT_FIELDS, type Warnings } from '../../customer.ts'
import type { Reject, SortedPage } from '../../sorted-page.ts'
import { storableJson, storableText } from '../../storable-text.ts'

/** Pages as they are stored, and the places of their customers in which a text was replaced. */
export type StorablePages = { pages: readonly SortedPage[]; replaced: readonly (readonly number[])[] }

/** Replaces what PostgreSQL cannot hold in the texts of pages, and counts each as the warning `malformed_text`. */
export function storablePages(pages: readonly SortedPage[]): StorablePages {
  const storable = pages.map(storablePage)
  return { pages: storable.map(({ page }) => page), replaced: storable.map(({ replaced }) => replaced) }
}

function storablePage(page: SortedPage): { page: SortedPage; replaced: readonly number[] } {
  const rejects = page.rejects.map(storableReject)
  let count = rejects.filter((reject, index) => reject !== page.rejects[index]).length
  const replaced: number[] = []
  const customers = page.customers.map((customer, index) => {
    const storable = storableCustomer(customer)
    if (storable === undefined) return customer
    count += storable.count
    replaced.push(page.places[index] ?? 0)
    return storable.customer
  })
  if (count === 0) return { page, replaced }
  const warnings: Warnings = { ...page.warnings, malformed_text: (page.warnings.malformed_text ?? 0) + count }
  return { page: { ...page, customers, rejects, warnings }, replaced }
}

/** Undefined where nothing is replaced. */
function storableCustomer(customer: Customer): { customer: Customer; count: number } | undefined {
  const extra = customer.extra === null ? null : storableJson(customer.extra)
  if (extra === customer.extra && !TEXT_FIELDS.some((field) => customer[field]?.includes('\0'))) return undefined
  const texts = TEXT_FIELDS.filter((field) => customer[field]?.includes('\0'))
  const stored = { ...customer, extra }
  for (const field of texts) stored[field] = storableText(customer[field] ?? '')
  return { customer: stored, count: texts.length + (extra === customer.extra ? 0 : 1) }
}

function storableReject(reject: Reject): Reject {
  const payload = storableJson(storableText(reject.payload))
  const reasons = reject.reasons.map(({ field, message }) => ({
    field: storableText(field),
    message: storableText(message),
  }))
  const isSame = reasons.every(({ field, message }, at) => {
    const before = reject.reasons[at]
    return field === before?.field && message === before.message
  })
  return payload === reject.payload && isSame ? reject : { ...reject, payload, reasons }
}
