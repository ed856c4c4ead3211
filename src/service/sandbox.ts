import { createHash } from 'node:crypto'
import { UsageError } from '../errors.ts'
import { DEFAULT_PRESET, recipeOf } from '../source/signing.ts'
import type { Credentials, Recipe } from '../source/signing.ts'
import { BASE_PATH, createService } from './app.ts'
import type { ServiceOptions } from './app.ts'
import { generateCustomers } from './customers.ts'
import type { ServiceCustomer } from './customers.ts'
import { listen } from './listen.ts'
import type { RateLimit } from './rate-limit.ts'

/** Everything has a default: three organizations of 1,000 customers each, on a free port of 127.0.0.1. */
export type SandboxOptions = Pick<ServiceOptions, 'latencyMs' | 'explain401' | 'largePages' | 'intercept'> & {
  /** The same seed gives the same customers, keys and secrets. */
  seed?: string | undefined
  organizations?: number | undefined
  /** For every organization, or one number for each. */
  customers?: number | readonly number[] | undefined
  /** A rule that names an organization goes before one for all of them. */
  rateLimits?: readonly RateLimitRule[] | undefined
  /** Organizations whose plan does not permit reading customers. */
  forbidden?: readonly string[] | undefined
  recipe?: Recipe | undefined
  host?: string | undefined
  port?: number | undefined
  now?: (() => number) | undefined
}

/** A limit for one organization, or for each of them when none is named. */
export type RateLimitRule = RateLimit & { organization?: string | undefined }

export type Sandbox = {
  origin: string
  organizations: readonly SandboxOrganization[]
  recipe: Recipe
  close: () => Promise<void>
}

type SandboxOrganization = Credentials & {
  id: string
  baseUrl: string
  customers: readonly ServiceCustomer[]
}

/** Starts the service over made-up customers in this process. Throws a UsageError for options that cannot be met. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { seed = '1', recipe = recipeOf(DEFAULT_PRESET), host = '127.0.0.1', port = 0, now = Date.now } = options
  const counts = customerCounts(options)
  const ids = counts.map((_, index) => organizationId(index))
  requireKnown(ids, [
    ...(options.forbidden ?? []),
    ...(options.rateLimits ?? []).flatMap((rule) => rule.organization ?? []),
  ])

  const organizations = counts.map((count, index) => {
    const id = organizationId(index)
    return { id, ...credentials(seed, id, recipe), customers: generateCustomers({ seed: `${seed} ${id}`, count }) }
  })
  const service = createService({
    ...options,
    recipe,
    now,
    organizations: organizations.map(({ customers, ...organization }) => ({
      ...organization,
      customers: { list: () => customers },
      plan: options.forbidden?.includes(organization.id) ? 'forbidden' : 'permitted',
      rateLimit: rateLimitOf(organization.id, options.rateLimits ?? []),
    })),
  })
  const listening = await listen(service, { host, port })
  const baseUrl = listening.origin + BASE_PATH
  return {
    origin: listening.origin,
    organizations: organizations.map((organization) => ({ ...organization, baseUrl })),
    recipe,
    close: () => listening.close(),
  }
}

/** How many customers each organization has. */
function customerCounts({ organizations, customers = 1000 }: SandboxOptions): readonly number[] {
  const counts = typeof customers === 'number' ? Array<number>(organizations ?? 3).fill(customers) : customers
  if (organizations !== undefined && counts.length !== organizations) {
    throw new UsageError(
      `${counts.length} numbers of customers for ${organizations} organizations: give one number, or one for each organization.`,
    )
  }
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total > MAX_CUSTOMERS) {
    throw new UsageError(
      `${total} customers are more than the sandbox holds in memory: at most ${MAX_CUSTOMERS} in all.`,
    )
  }
  return counts
}

function organizationId(index: number): string {
  return FIRST_IDS[index] ?? `org-${index + 1}`
}

function requireKnown(ids: readonly string[], named: readonly string[]): void {
  const unknown = named.find((id) => !ids.includes(id))
  if (unknown === undefined) return
  throw new UsageError(
    `The sandbox has no organization "${unknown}". It has ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ' and more' : ''}.`,
  )
}

function rateLimitOf(id: string, rules: readonly RateLimitRule[]): RateLimit | undefined {
  return (
    rules.findLast(({ organization }) => organization === id) ??
    rules.findLast(({ organization }) => organization === undefined)
  )
}

/** Credentials that open nothing but this sandbox, and say so. */
function credentials(seed: string, id: string, { secretEncoding }: Recipe): Credentials {
  const digest = (purpose: string): Buffer => createHash('sha256').update(`${purpose} ${seed} ${id}`).digest()
  const secret = digest('secret')
  return {
    apiKey: `sandbox_key_${id}_${digest('key').toString('hex').slice(0, 24)}`,
    // A secret that is to be decoded must be nothing but its encoding.
    secret:
      secretEncoding === 'utf8' ? `sandbox_secret_${id}_${secret.toString('hex')}` : secret.toString(secretEncoding),
  }
}

const FIRST_IDS = ['acme', 'globex', 'initech']
const MAX_CUSTOMERS = 1_000_000
