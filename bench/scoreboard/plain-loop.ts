import { askForPage, PageRefused } from './ask-for-page.ts'
import { idsIn } from './contender.ts'
import type { Contender, Organization, Said, Terms } from './contender.ts'

/**
 * A common loop: page 1 to the last one, a hundred customers a page, stored by id; customers that were on no page are removed at
 * the end. It signs, waits as the service asks, tries three times, and trusts every page.
 */
export async function plainLoop(organization: Organization, terms: Terms): Promise<Contender> {
  const { clock, requestsPerMinute } = terms
  let copy: ReadonlySet<string> = new Set()
  const mostPages = 10 + 5 * Math.ceil(terms.customers / SIZE)

  async function spendNight(): Promise<Said> {
    const read = new Set<string>()
    try {
      for (let page = 1, lastPage = 1; page <= lastPage; page += 1) {
        if (page > mostPages) throw new PageRefused('no end')
        if (requestsPerMinute !== undefined) await clock.sleep(60_000 / requestsPerMinute, NEVER)
        const { data, meta } = await askForPage(organization, { page, size: SIZE }, terms)
        for (const id of idsIn(data)) read.add(id)
        lastPage = meta.last_page
      }
    } catch (error) {
      if (!(error instanceof PageRefused)) throw error
      copy = copy.union(read)
      return { claim: 'failed', word: 'failed', reasons: [error.message], isDefect: false, read, holes: [] }
    }
    copy = read
    return { claim: 'whole', word: 'success', reasons: [], isDefect: false, read, holes: [] }
  }

  return { spendNight, active: () => copy, close: async () => {} }
}

const SIZE = 100
const NEVER = new AbortController().signal
