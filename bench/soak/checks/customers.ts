import { TEXT_FIELDS } from '../../../src/model/customer.ts'
import type { ServiceCustomer } from '../../../src/service/customers.ts'
import type { Stay } from '../listed-customers.ts'
import type { Removal, StoredCustomer } from '../read-mirror.ts'

/** What the service lists now, and what it ever listed; what the mirror holds, and what it ever removed. */
export type Compared = {
  organization: string
  listed: readonly ServiceCustomer[]
  stays: ReadonlyMap<string, readonly Stay[]>
  stored: readonly StoredCustomer[]
  removals: readonly Removal[]
}

/**
 * Compares the mirror of an organization with its service: active are exactly the listed customers, each field as listed; removed
 * are those that left, and no customer was ever removed who was listed all the time since it was found missing. Findings hold ids only.
 */
export function compareCustomers({ organization, listed, stays, stored, removals }: Compared): string[] {
  const byId = new Map(stored.map((row) => [row.id, row]))
  const listedIds = new Set(listed.map(({ id }) => id))
  return [
    ...listed.flatMap((customer) => differences(customer, byId.get(customer.id))),
    ...stored.filter(({ id }) => !listedIds.has(id)).flatMap((row) => whyNotListed(row, stays.has(row.id))),
    ...removals.filter((removal) => wasListed(removal, stays.get(removal.id) ?? [])).map(wronglyRemoved),
  ].map((finding) => `${organization}: ${finding}`)
}

function differences(customer: ServiceCustomer, row: StoredCustomer | undefined): string[] {
  const { id } = customer
  if (row === undefined) return [`customer ${id} is listed and not in the mirror`]
  if (row.removed_at !== null) return [`customer ${id} is listed and removed in the mirror`]
  const missing = row.missing_since === null ? [] : [`customer ${id} is listed and missing in the mirror`]
  const fields = TEXT_FIELDS.filter((field) => row[field] !== customer[field])
  return [...missing, ...fields.map((field) => `customer ${id} has another ${field} in the mirror`)]
}

function whyNotListed({ id, removed_at }: StoredCustomer, wasEverListed: boolean): string[] {
  if (!wasEverListed) return [`customer ${id} was never listed`]
  return removed_at === null ? [`customer ${id} has left and is active in the mirror`] : []
}

function wasListed({ missingMs, atMs }: Removal, stays: readonly Stay[]): boolean {
  return stays.some(({ fromMs, toMs }) => fromMs <= missingMs && atMs <= toMs)
}

function wronglyRemoved({ id, atMs }: Removal): string {
  return `customer ${id} was removed at ${new Date(atMs).toISOString()} although it was listed all the time since it was missing`
}
