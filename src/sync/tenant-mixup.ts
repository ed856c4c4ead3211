import type { Mirror } from '../store/mirror.ts'
import { ContractBroken } from '../errors/errors.ts'
import type { SortedPage } from '../model/page.ts'

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
  const inOrder = pages.toSorted((one, other) => one.page - other.page).map(customersOf)
  const asked = sampleOf(inOrder.find((customers) => customers.length > 0) ?? [])
  const mixup = await lookFor(mirror, organization, asked)
  if (mixup === undefined) return
  const { count, mostlyOf } = mixup
  throw new ContractBroken(
    `${organization}: ${count} of ${asked.length} customers looked at on its first page are new to it and known under ` +
      `another organization, most of them under ${mostlyOf}. Nothing was written. Check the key and the address of ` +
      `${organization}; each organization has its own. If ${organization} is a new id for ${mostlyOf}, rename it in the ` +
      `mirror with 'customer-mirror organizations rename ${mostlyOf} ${organization}'. If it is the old one, name ${mostlyOf} in the ` +
      'configuration.',
    { code: 'tenant-mixup' },
  )
}

/** Fewer customers on a page say nothing. */
const FEWEST = 5
/** An organization may share customers with another one: after so many refused pages it is no mistake of single answers. */
const MOST_REFUSED = 3

/** Refuses single pages that hold another organization's customers, such as those of a proxy that mixes up two answers. */
export class ForeignAnswers {
  readonly #mirror: Pick<Mirror, 'findKnownElsewhere'>
  readonly #organization: string
  #refused = 0

  constructor(mirror: Pick<Mirror, 'findKnownElsewhere'>, organization: string) {
    this.#mirror = mirror
    this.#organization = organization
  }

  /** The pages to ask for again; a few in a run at most. A page of an initial sync costs one look-up. */
  async among<Page extends SortedPage>(pages: readonly Page[]): Promise<ReadonlySet<Page>> {
    const refused = new Set<Page>()
    if (this.#refused >= MOST_REFUSED) return refused
    const suspects = pages.filter(isMostlyNew)
    const sample = suspects.flatMap((page) => firstNew(page) ?? [])
    if (sample.length === 0) return refused
    if ((await this.#mirror.findKnownElsewhere(this.#organization, sample)).count === 0) return refused
    for (const page of suspects) {
      if (this.#refused >= MOST_REFUSED) break
      if ((await lookFor(this.#mirror, this.#organization, sampleOf(customersOf(page)))) === undefined) continue
      this.#refused += 1
      refused.add(page)
    }
    return refused
  }
}

/** The id of the first customer of a page who is new to the organization. */
function firstNew({ rows, rowIds, suppressed }: SortedPage): string | undefined {
  const isNew = (place: number) => rowIds[place] === 0 && suppressed.every(({ position }) => position !== place)
  return rows.find((row, place) => row?.id !== undefined && isNew(place))?.id
}

type Customer = string | number

function isMostlyNew({ rowIds, suppressed }: SortedPage): boolean {
  let known = suppressed.length
  for (let at = 0; at < rowIds.length; at += 1) if (rowIds[at] !== 0) known += 1
  return rowIds.length >= FEWEST && known * 2 < rowIds.length
}

/** What is known of these customers, if more than half of them are new to the organization and belong to another one. */
async function lookFor(
  mirror: Pick<Mirror, 'findKnownElsewhere'>,
  organization: string,
  asked: readonly Customer[],
): Promise<{ count: number; mostlyOf: string } | undefined> {
  // A recalled or forgotten customer, which is here by its number, belongs to this organization.
  const ids = asked.filter((customer) => typeof customer === 'string')
  if (ids.length * 2 <= asked.length) return undefined
  const { count, mostlyOf } = await mirror.findKnownElsewhere(organization, ids)
  return count * 2 <= asked.length || mostlyOf === undefined ? undefined : { count, mostlyOf }
}

/** The customers of a page, each once: by row number if known, otherwise by id. */
function customersOf({ rows, rowIds, suppressed }: SortedPage): Customer[] {
  const numbers = Array.from(rowIds)
  for (const { position, number } of suppressed) numbers[position] = -number
  return [...new Set(numbers.flatMap((rowId, place) => (rowId === 0 ? (rows[place]?.id ?? []) : rowId)))]
}

/** The first one, and others at even distances. */
function sampleOf(customers: readonly Customer[]): Customer[] {
  const distance = Math.max(1, customers.length / IDS_ASKED)
  return customers.filter((_, place) => Math.floor(place / distance) > Math.floor((place - 1) / distance))
}
