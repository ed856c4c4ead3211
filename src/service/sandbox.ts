import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { MiddlewareHandler } from 'hono'
import { stringify } from 'yaml'
import { isLoopback } from '../address/http-address.ts'
import { UsageError } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { listen, UNREADABLE } from '../http/server.ts'
import { makeFolder } from '../machine/folders.ts'
import { errorEnvelope } from './answer.ts'
import { BASE_PATH, createService, type ServiceEnv, type ServiceLimit } from './app.ts'
import { generateCustomers } from './customers.ts'
import { stageOrganization } from './scenarios/scenario.ts'
import { scenarioNamed } from './scenarios/scenarios.ts'
import { type Credentials, DEFAULT_PRESET, recipeOf } from '../signing/signing.ts'

/** Defaults: three organizations of 1,050 customers each, on a free port of 127.0.0.1. */
export type SandboxOptions = {
  /** The same seed gives the same customers, keys and secrets. */
  seed?: string | undefined
  /** One number for each of three organizations, or a number for each, which are as many. */
  customers?: number | readonly number[] | undefined
  /** The last rule for an organization, or for all, holds. */
  rateLimits?: readonly RateLimitRule[] | undefined
  host?: string | undefined
  port?: number | undefined
  now?: (() => number) | undefined
  scenario?: string | undefined
  /** Sees every request before the service does and every answer after it, and may answer in its place. */
  intercept?: MiddlewareHandler<ServiceEnv> | undefined
  /** The duration of a scenario's slow answers, in milliseconds. */
  dripMs?: number | undefined
}

/** A limit for one organization, or for each if none is named. */
type RateLimitRule = ServiceLimit & { organization?: string | undefined }

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>

/** Starts the service over made-up customers in this process. Throws a UsageError for impossible options. */
export async function startSandbox(options: SandboxOptions = {}) {
  const { seed = '1', host = '127.0.0.1', port = 0, now = Date.now, dripMs = DRIP_MS } = options
  const scenario = scenarioNamed(options.scenario ?? 'still')
  const { rateLimit, clockAheadMs = 0, sharedRateLimit } = scenario.service ?? {}
  // Options override the settings of the scenario.
  const rateLimits: readonly RateLimitRule[] = [...(rateLimit ? [rateLimit] : []), ...(options.rateLimits ?? [])]

  const organizations = customerCounts(options.customers).map((count, index) => {
    const id = FIRST_IDS[index] ?? `org-${index + 1}`
    const customers = generateCustomers({ seed: `${seed} ${id}`, count })
    const staged = stageOrganization({ scenario, customers, seed: `${seed} ${id}`, dripMs, now })
    return { id, ...credentials(seed, id), staged, atStart: [...staged.list.rows()] }
  })
  const service = createService({
    sharedRateLimit,
    now: () => now() + clockAheadMs,
    around: options.intercept && [options.intercept],
    organizations: organizations.map(({ id, apiKey, secret, staged }) => ({
      ...{ id, apiKey, secret, recipe, customers: staged.customers, answer: staged.answer },
      rateLimit: rateLimits.findLast(({ organization = id }) => organization === id),
    })),
  })
  const { origin, close } = await listen(service, { host, port }, errorEnvelope(400, UNREADABLE))
  return {
    origin,
    /** Each with the customers listed at the start, and its list, to change and inspect while it is served. */
    organizations: organizations.map(({ id, apiKey, secret, atStart, staged: { list } }) => ({
      ...{ id, apiKey, secret, customers: atStart, list },
      baseUrl: origin + BASE_PATH,
    })),
    close,
  }
}

function customerCounts(customers: SandboxOptions['customers'] = 1050): readonly number[] {
  const counts = typeof customers === 'number' ? FIRST_IDS.map(() => customers) : customers
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total <= MAX_CUSTOMERS) return counts
  throw new UsageError(`${total} customers are more than the sandbox can hold in memory: at most ${MAX_CUSTOMERS}.`)
}

/** Credentials that are valid only for this sandbox; their text says so. */
function credentials(seed: string, id: string): Credentials {
  const digest = (purpose: string) => hash('sha256', `${purpose} ${seed} ${id}`)
  return {
    apiKey: `sandbox_key_${id}_${digest('key').slice(0, 24)}`,
    secret: `sandbox_secret_${id}_${digest('secret')}`,
  }
}

const recipe = recipeOf(DEFAULT_PRESET)

const FIRST_IDS = ['acme', 'globex', 'initech']
const MAX_CUSTOMERS = 1_000_000
/** Longer than most clients wait for an answer. */
const DRIP_MS = 40_000

/** Top-level settings of the configuration; without a queue it is for `sync`, and for a worker that keeps its queue itself. */
type SandboxConfig = { mirror?: string; queue?: string; schedule?: { cron: string; timezone: string } }

/** Often enough that a worker in a trial has something to do. */
const HOURLY = { cron: '0 * * * *', timezone: 'UTC' }

/** Writes a configuration, 0600, of every organization of the sandbox. Throws a UsageError where the file exists or cannot be written. */
export async function writeConfig(
  file: string,
  { organizations }: Pick<Sandbox, 'organizations'>,
  { mirror = './data/customers.db', schedule = HOURLY, ...others }: SandboxConfig = {},
): Promise<void> {
  const distant = organizations.find(({ baseUrl }) => !isLoopback(new URL(baseUrl)))
  if (distant)
    throw new UsageError(
      `No configuration was written: it may contain keys and use http only for this machine, not for ${distant.baseUrl}. ` +
        'Start the sandbox with --host 127.0.0.1.',
    )
  const text = stringify({
    ...{ mirror, schedule, ...others },
    organizations: organizations.map(({ id, baseUrl, apiKey, secret }) => ({ id, baseUrl, apiKey, secret })),
  })
  try {
    makeFolder(dirname(file))
    // `wx` fails when the file exists, without a separate check before.
    await writeFile(file, `${SANDBOX_HEADING}${text}`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    const why = code === 'EEXIST' ? 'exists already and was not changed' : `cannot be written (${code})`
    throw new UsageError(`${file} ${why}. Name another file, in a folder this user may write to.`, { cause: error })
  }
}

const SANDBOX_HEADING = `# Mirrors the organizations of a sandbox. The keys and secrets below open nothing else; those of a real service
# do not belong in a file like this: name them as { env: NAME } or { file: path }.
`
