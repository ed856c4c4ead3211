import { z } from 'zod'
import { signedHeaders } from '../../src/signing/signing.ts'
import type { Organization, Terms } from './contender.ts'

/** Why a page could not be had, in a few words such as `HTTP 500`. */
export class PageRefused extends Error {
  override name = 'PageRefused' as const
}

type Page = z.output<typeof pageSchema>

/** One page, signed and asked for up to three times where asking again may help. Throws PageRefused. */
export async function askForPage(
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
const NEVER = new AbortController().signal

/** As much of the answer as such loops look at. */
const pageSchema = z.object({ data: z.array(z.unknown()), meta: z.object({ last_page: z.number() }) })
