import type { Mirror } from '../store/mirror.ts'
import { ContractBroken } from '../errors/errors.ts'
import type { SortedPage } from '../model/page.ts'

/** Throws ContractBroken `tenant-mixup` where over half of the first page is new here and of another organization: a wrong key or address. */
export async function refuseTenantMixup(mirror: Known, organization: string, pages: readonly SortedPage[]) {
  const inOrder = pages.toSorted((one, other) => one.page - other.page)
  const first = inOrder.find(({ rowIds }) => rowIds.length > 0)
  const asked = first === undefined ? [] : sampleOf(first)
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

/** Returns what finds single pages of another organization, as a proxy mixes them up, to be asked for again: a few in a run, at most. */
export function foreignAnswers(mirror: Known, organization: string) {
  let left = MOST_REFUSED
  return async <Page extends SortedPage>(pages: readonly Page[]): Promise<ReadonlySet<Page>> => {
    const refused = new Set<Page>()
    if (left === 0) return refused
    const sampled = pages
      .filter(({ rowIds }) => rowIds.length >= FEWEST)
      .map((page) => ({ page, sample: sampleOf(page) }))
    const suspects = sampled.filter(({ sample }) => isMostlyNew(sample))
    const ids = suspects.flatMap(({ sample }) => sample.find((id) => id !== undefined) ?? [])
    if (ids.length === 0 || (await mirror.findKnownElsewhere(organization, ids)).count === 0) return refused
    for (const { page, sample } of suspects) {
      if (left === 0) break
      if ((await lookFor(mirror, organization, sample)) === undefined) continue
      left -= 1
      refused.add(page)
    }
    return refused
  }
}

type Known = Pick<Mirror, 'findKnownElsewhere'>

/** The ids of customers of a page who may be new to the organization; undefined for one who belongs to it, and for a record without an id. */
type Sample = readonly (string | undefined)[]

/** How many customers of a page decide: each costs one look-up for each other organization. */
const MOST_ASKED = 20

/** The first one, and others at even distances. */
function sampleOf({ rows, rowIds, suppressed }: SortedPage): Sample {
  const distance = Math.max(1, rowIds.length / MOST_ASKED)
  return Array.from({ length: Math.min(MOST_ASKED, rowIds.length) }, (_, index) => {
    const place = Math.ceil(index * distance)
    const isOwn = rowIds[place] !== 0 || suppressed.some(({ position }) => position === place)
    return isOwn ? undefined : rows[place]?.id
  })
}

function isMostlyNew(sample: Sample): boolean {
  return sample.filter((id) => id !== undefined).length * 2 > sample.length
}

/** What is known of these customers, if more than half of them are new to the organization and belong to another one. */
async function lookFor(mirror: Known, organization: string, sample: Sample) {
  if (!isMostlyNew(sample)) return undefined
  const ids = sample.filter((id) => id !== undefined)
  const { count, mostlyOf } = await mirror.findKnownElsewhere(organization, ids)
  return count * 2 <= sample.length || mostlyOf === undefined ? undefined : { count, mostlyOf }
}
