import type { Mirror } from '../store.ts'
import { ContractBroken } from '../errors.ts'
import type { SortedPage } from '../sorted-page.ts'

/** How many ids of the first page decide: each costs one look-up for each other organization. */
const IDS_ASKED = 20

/**
 * Throws ContractBroken `tenant-mixup` when more than half of the customers on the first page are new to the organization and
 * belong to another one: the key or address is wrong, and nothing may be written.
 */
export async function refuseTenantMixup(
  mirror: Pick<Mirror, 'findKnownElsewhere'>,
  organization: string,
  pages: readonly SortedPage[],
): Promise<void> {
  const asked = spreadOver(customersOfFirst(pages), IDS_ASKED)
  // A recalled or forgotten customer, which is here by its number, belongs to this organization.
  const ids = asked.filter((customer) => typeof customer === 'string')
  if (ids.length * 2 <= asked.length) return
  const { count, mostlyOf } = await mirror.findKnownElsewhere(organization, ids)
  if (count * 2 <= asked.length || mostlyOf === undefined) return
  throw new ContractBroken(
    `${organization}: ${count} of ${asked.length} customers looked at on its first page are new to it and known under ` +
      `another organization, most of them under ${mostlyOf}. Nothing was written. Check the key and the address of ` +
      `${organization}; each organization has its own. If ${organization} is a new id for ${mostlyOf}, rename it in the ` +
      `mirror: customer-mirror organizations rename ${mostlyOf} ${organization}. If it is the old one, name ${mostlyOf} in the ` +
      'configuration.',
    { code: 'tenant-mixup' },
  )
}

/** The customers of the first page that has any, each once: by row number if known, otherwise by id. */
function customersOfFirst(pages: readonly SortedPage[]): (string | number)[] {
  for (const { rows, rowIds, suppressed } of pages.toSorted((one, other) => one.page - other.page)) {
    const numbers = Array.from(rowIds)
    for (const { position, number } of suppressed) numbers[position] = -number
    const customers = numbers.flatMap((rowId, place) => (rowId === 0 ? (rows[place]?.id ?? []) : rowId))
    if (customers.length > 0) return [...new Set(customers)]
  }
  return []
}

/** At most `most` items: the first one, and others at even distances. */
function spreadOver<Item>(items: readonly Item[], most: number): Item[] {
  const count = Math.min(most, items.length)
  return Array.from({ length: count }, (_, index) => Math.floor((index * items.length) / count)).flatMap(
    (place) => items[place] ?? [],
  )
}
