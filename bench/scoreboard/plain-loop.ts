import { z } from 'zod'
import { type Contender, idsIn, type Organization, type Said, type Terms, type PageRead } from './contender.ts'
import { signedHeaders } from '../../src/signing/signing.ts'

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

/** Why a page could not be had, in a few words such as `HTTP 500`. */
class PageRefused extends Error {
  override name = 'PageRefused' as const
}

type Page = z.output<typeof pageSchema>

/** One page, signed and asked for up to three times where asking again may help. Throws PageRefused. */
async function askForPage(
  organization: Organization,
  { page, size }: { page: number; size: number },
  terms: Pick<Terms, 'recipe' | 'clock' | 'requestTimeoutMs'>,
): Promise<Page> {
  const { clock } = terms
  const url = new URL(`${organization.baseUrl}/customers?page=${page}&per_page=${size}`)
  for (let tries = 1; ; tries += 1) {
    const answer = await tryOnce(url, organization, terms)
    if (answer.status === 200) return pageIn(answer.text)
    if (tries >= TRIES || !WORTH_ANOTHER_TRY.has(answer.status)) throw new PageRefused(said(answer.status))
    await clock.sleep(answer.retryAfterMs ?? tries * 1000, NEVER)
  }
}

type Answer = { status: number; text: string; retryAfterMs?: number | undefined }

/** Status 0 stands for no whole answer. */
async function tryOnce(url: URL, organization: Organization, terms: Parameters<typeof askForPage>[2]): Promise<Answer> {
  const headers = signedHeaders({ method: 'GET', url }, organization, { unixMs: terms.clock.now() }, terms.recipe)
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(terms.requestTimeoutMs) })
    const seconds = response.headers.get('retry-after')
    const retryAfterMs = seconds === null ? undefined : Math.max(1, Number(seconds)) * 1000
    return { status: response.status, text: await response.text(), retryAfterMs }
  } catch {
    return { status: 0, text: '' }
  }
}

function pageIn(text: string): Page {
  try {
    return pageSchema.parse(JSON.parse(text))
  } catch (error) {
    throw new PageRefused('not JSON', { cause: error })
  }
}

function said(status: number): string {
  return status === 0 ? 'no answer' : `HTTP ${status}`
}

const TRIES = 3
const WORTH_ANOTHER_TRY: ReadonlySet<number> = new Set([0, 429, 500, 502, 503, 504])

/** As much of the answer as such loops look at. */
const pageSchema = z.object({ data: z.array(z.unknown()), meta: z.object({ last_page: z.number() }) })

/**
 * The customers that the service never sends, neither with their neighbours nor alone. Customers that have left can no longer be
 * checked, and count as within reach.
 */
export async function outOfReach(
  ids: ReadonlySet<string>,
  { organization, terms }: { organization: Organization; terms: Terms },
): Promise<Set<string>> {
  const unsent = new Set(ids)
  for (const size of [100, 1]) {
    const asked = new Set<number>()
    for (const id of ids) {
      if (!unsent.has(id)) continue
      const position = organization.list.rows().findIndex((customer) => customer.id === id)
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
