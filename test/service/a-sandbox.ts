import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { startSandbox } from '../../src/service/sandbox.ts'
import { signedHeaders } from '../../src/signing/signing.ts'
import type { OrganizationInHand, Sandbox, SandboxOptions, Truth } from '../../src/service/sandbox.ts'

/** A sandbox that runs until the test ends, with its first organization at hand. */
type Played = {
  sandbox: Sandbox
  acme: Sandbox['organizations'][number]
  hand: OrganizationInHand
  truth: Truth
  /** Asks for a page of the first organization, however it is answered. */
  get: (page: number, size?: number, search?: string) => Promise<Got>
  /** Reads page after page, as many as the answers promise, and gives the ids in the order they came. */
  readAll: (size?: number) => Promise<string[]>
}

export type Got = { status: number; headers: Headers; text: string; data: unknown[]; ids: string[]; meta: Meta }
type Meta = z.output<typeof metaSchema>

/** By default one organization of 1,000 customers. */
export async function played(scenario: string | undefined, options: SandboxOptions = {}): Promise<Played> {
  const sandbox = await startSandbox({
    organizations: 1,
    customers: 1000,
    ...options,
    ...(scenario !== undefined && { scenario }),
  })
  onTestFinished(() => sandbox.close())
  const [acme] = sandbox.organizations
  if (acme === undefined) throw new Error('The sandbox has no organization')
  const get: Played['get'] = (page, size = 100, search = '') =>
    getPage(sandbox, acme, { page, size, search, now: options.now })
  const readAll = async (size = 100): Promise<string[]> => {
    const ids: string[] = []
    for (let page = 1, last = 1; page <= last && page < 200; page += 1) {
      const got = await get(page, size)
      ids.push(...got.ids)
      last = got.meta.last_page
    }
    return ids
  }
  return { sandbox, acme, hand: sandbox.organization('acme'), truth: sandbox.truth('acme'), get, readAll }
}

async function getPage(
  { recipe }: Pick<Sandbox, 'recipe'>,
  organization: Sandbox['organizations'][number],
  { page, size, search, now = Date.now }: { page: number; size: number; search: string; now?: SandboxOptions['now'] },
): Promise<Got> {
  const url = new URL(`${organization.baseUrl}/customers?page=${page}&per_page=${size}`)
  if (search !== '') url.searchParams.set('search', search)
  const headers = signedHeaders({ method: 'GET', url }, organization, { unixMs: now() }, recipe)
  const response = await fetch(url, { headers })
  const text = await response.text()
  const { data, meta } = bodySchema.parse(text.startsWith('{') ? JSON.parse(text) : {})
  return { status: response.status, headers: response.headers, text, data, ids: data.flatMap(idOf), meta }
}

function idOf(record: unknown): string[] {
  const named = z.object({ id: z.string() }).safeParse(record)
  return named.success ? [named.data.id] : []
}

const metaSchema = z.object({
  current_page: z.int().default(0),
  from: z.int().nullish(),
  last_page: z.int().default(0),
  per_page: z.int().default(0),
  to: z.int().nullish(),
  total: z.int().default(0),
})
const bodySchema = z.object({ data: z.array(z.unknown()).default([]), meta: metaSchema.prefault({}) })
