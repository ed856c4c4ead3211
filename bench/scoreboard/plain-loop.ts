import { askForPage, PageRefused } from './ask-for-page.ts'
import { idsIn } from './contender.ts'
import type { Contender, Organization, Said, Terms } from './contender.ts'
import type { PageRead } from './kept-places.ts'

/**
 * A common loop: page 1 to the last one, a hundred customers a page, stored by id; customers that were on no page are removed at
 * the end. It signs, waits as the service asks, tries three times, and trusts every page.
 */
export async function plainLoop(organization: Organization, terms: Terms): Promise<Contender> {
  const { clock, requestsPerMinute } = terms
  let copy: ReadonlySet<string> = new Set()
  const mostPages = 10 + 5 * Math.ceil(terms.customers / SIZE)

  async function spendNight(): Promise<Said> {
    const pages: PageRead[] = []
    try {
      for (let page = 1, lastPage = 1; page <= lastPage; page += 1) {
        if (page > mostPages) throw new PageRefused('no end')
        if (requestsPerMinute !== undefined) await clock.sleep(60_000 / requestsPerMinute, NEVER)
        const { data, meta } = await askForPage(organization, { page, size: SIZE }, terms)
        pages.push(idsIn(data))
        lastPage = meta.last_page
      }
    } catch (error) {
      if (!(error instanceof PageRefused)) throw error
      copy = copy.union(new Set(pages.flat()))
      return { claim: 'failed', word: 'failed', reasons: [error.message], isDefect: false, pages, holes: [] }
    }
    copy = new Set(pages.flat())
    return { claim: 'whole', word: 'success', reasons: [], isDefect: false, pages, holes: [] }
  }

  return { spendNight, active: () => copy, close: async () => {} }
}

const SIZE = 100
const NEVER = new AbortController().signal
