import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { watchTruth } from '../../bench/scoreboard/truth.ts'
import { type SandboxOptions, startSandbox } from '../../src/service/sandbox.ts'
import { type Credentials, DEFAULT_PRESET, type Recipe, recipeOf, signedHeaders } from '../../src/signing/signing.ts'

/** The answer to a request: as text, and what either envelope has in it. */
export type Answer = z.output<typeof envelope> & { status: number; headers: Headers; text: string; ids: string[] }

const count = z.int().default(0)
const envelope = z.object({
  data: z.array(z.unknown()).default([]),
  meta: z.object({ current_page: count, last_page: count, per_page: count, total: count }).prefault({}),
  error: z.string().default(''),
  details: z.record(z.string(), z.array(z.string())).default({}),
})

const withId = z.object({ id: z.string() })

type How = { recipe?: Recipe; atMs?: number | undefined; change?: (headers: Record<string, string>) => void }

/** Sends a signed GET for `target` under the organization's base address; `change` may spoil the headers on the way. */
export async function ask(
  organization: { baseUrl: string } & Credentials,
  target: string,
  { recipe = recipeOf(DEFAULT_PRESET), atMs = Date.now(), change }: How = {},
): Promise<Answer> {
  const url = new URL(organization.baseUrl + target)
  const headers = signedHeaders({ method: 'GET', url }, organization, { unixMs: atMs, nonce: 'once' }, recipe)
  change?.(headers)
  const response = await fetch(url, { headers })
  const text = await response.text()
  const told = envelope.parse(text.startsWith('{') ? JSON.parse(text) : {})
  const ids = told.data.flatMap((record) => withId.safeParse(record).data?.id ?? [])
  return { ...told, status: response.status, headers: response.headers, text, ids }
}

/** A sandbox that runs until the test ends, with its first organization at hand; by default it has one, of 1,000 customers. */
export async function played(scenario: string, options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ customers: [1000], ...options, scenario })
  onTestFinished(() => sandbox.close())
  const [acme] = sandbox.organizations
  if (acme === undefined) throw new Error('The sandbox has no organization')
  /** Asks for a page of the first organization, however it is answered. */
  const get = (page: number, size = 100, search?: string) => {
    const query = new URLSearchParams({ page: `${page}`, per_page: `${size}`, ...(search && { search }) })
    return ask(acme, `/customers?${query.toString()}`, { atMs: options.now?.() })
  }
  return { sandbox, acme, truth: watchTruth(acme, scenario), get }
}
