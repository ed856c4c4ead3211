import type { OrganizationInHand } from '../../src/service/sandbox.ts'
import { askForPage, PageRefused } from './ask-for-page.ts'
import { idsIn } from './contender.ts'
import type { Organization, Terms } from './contender.ts'

/**
 * The customers that the service never sends, neither with their neighbours nor alone. Customers that have left can no longer be
 * checked, and count as within reach.
 */
export async function outOfReach(
  ids: ReadonlySet<string>,
  { organization, hand, terms }: { organization: Organization; hand: OrganizationInHand; terms: Terms },
): Promise<Set<string>> {
  const unsent = new Set(ids)
  for (const size of [100, 1]) {
    const asked = new Set<number>()
    for (const id of ids) {
      if (!unsent.has(id)) continue
      const position = hand.customers.findIndex((customer) => customer.id === id)
      if (position < 0) unsent.delete(id)
      const page = Math.floor(position / size) + 1
      if (position < 0 || asked.has(page)) continue
      asked.add(page)
      for (const sent of await idsOnPage(organization, { page, size }, terms)) unsent.delete(sent)
    }
  }
  return unsent
}

async function idsOnPage(...[organization, window, terms]: Parameters<typeof askForPage>): Promise<string[]> {
  try {
    return idsIn((await askForPage(organization, window, terms)).data)
  } catch (error) {
    if (error instanceof PageRefused) return []
    throw error
  }
}
