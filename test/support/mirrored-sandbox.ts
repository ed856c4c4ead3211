import type { Organization } from '../../src/config/organization.ts'
import { RateLimited, SourceRefused, SourceUnavailable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { DEFAULT_PRESET, recipeOf } from '../../src/signing/signing.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { runOrganization } from '../../src/sync/run-organization.ts'
import type { Candidate, Listed } from '../../src/model/run.ts'
import { aCustomer, customerId, DAY_MS, type SentRecord, START_MS } from './builders.ts'
import { pageOfList, type PageSource, sourceOf } from './listed-source.ts'
import { rowsOf } from './mirror-file.ts'

/** One run of an organization of a sandbox, over HTTP, as the program makes it; backing off takes no time. */
export function syncSandbox(sandbox: Sandbox, mirror: Mirror, settings: Partial<Organization> = {}): Promise<Outcome> {
  return runOrganization(configured(sandbox, settings), {
    mirror,
    trigger: 'sync',
    rateLimits: new Map(),
    longestWaitMs: 10_000,
    now: Date.now,
    monotonicMs: Date.now,
    random: () => 0,
    signal: new AbortController().signal,
  })
}

export function configured({ organizations }: Sandbox, settings: Partial<Organization>): Organization {
  const { id = 'acme' } = settings
  const found = organizations.find((organization) => organization.id === id)
  if (found === undefined) throw new Error(`The sandbox has no organization ${id}`)
  const { baseUrl, apiKey, secret } = found
  return anOrganization({ id, baseUrl, apiKey, secret }, settings)
}

export function anOrganization(
  { id, baseUrl, apiKey, secret }: Record<'id' | 'baseUrl' | 'apiKey' | 'secret', string>,
  settings: Partial<Organization> = {},
): Organization {
  return {
    ...{ id, baseUrl: new URL(baseUrl), apiKey: { literal: apiKey }, secret: { literal: secret } },
    ...{ pageSize: 100, concurrency: 4, requestTimeoutMs: 5000, maxWaitMs: 60_000, maxRunMs: 3_600_000 },
    ...{ resumeWithinMs: 6 * 3_600_000, scan: 'chain', removals: { after: 2, maxShare: 0.1 }, rateLimit: {} },
    ...{ signing: recipeOf(DEFAULT_PRESET), retention: undefined, privacy: undefined, schedule: undefined },
    ...settings,
  }
}

export function activeIds(mirror: Mirror): Set<string> {
  const rows = rowsOf(mirror.file, `SELECT id FROM active_customers WHERE organization = 'acme'`)
  return new Set(rows.map(({ id }) => String(id)))
}

export type SearchedService = {
  shown: readonly SentRecord[]
  /** The customers that a search can find; by default the same. */
  listed?: readonly SentRecord[]
  search?: SearchKind
  /** From the first search on, it answers no request. */
  outage?: () => Promise<never>
}

export function aDatedCustomer(n: number, overrides: SentRecord = {}): SentRecord {
  return aCustomer(n, { created_at: new Date(START_MS - n * DAY_MS).toISOString(), ...overrides })
}

export function datedCustomers(from: number, to: number): SentRecord[] {
  return Array.from({ length: to - from + 1 }, (_, index) => aDatedCustomer(from + index))
}

type Matches = (record: SentRecord, text: string) => boolean

const anyField = (isLike: (value: string, text: string) => boolean): Matches => {
  return ({ name, username, email }, text) => [name, username, email].some((value) => isLike(String(value), text))
}
const partial = anyField((value, text) => value.toLowerCase().includes(text.toLowerCase()))

const refusing = (error: () => Error) => () => Promise.reject(error())
const finding = (matches: Matches, size = 100): SearchKind => {
  return async (listed, text) => {
    const found = listed.filter((record) => matches(record, text))
    return pageOfList(found, { page: 1, size: 100 }, size)
  }
}

/** Kinds of search that find a customer who is listed. */
export const WORKING = {
  'for any part, in any case': finding(partial),
  'for the whole text': finding(anyField((value, text) => value === text)),
  'with ten customers a page': finding(partial, 10),
  'by e-mail only': finding(({ email }, text) => email === text),
  'by username only': finding(({ username }, text) => username === text),
  'by name only': finding(({ name }, text) => name === text),
  'with ids in upper case': async (listed: readonly SentRecord[], text: string) => {
    const page = await finding(partial)(listed, text)
    const records = listed.filter((record) => partial(record, text))
    return { ...page, records: () => records.map((each) => ({ ...each, id: String(each['id']).toUpperCase() })) }
  },
} satisfies Record<string, SearchKind>

/** Kinds of search that prove nothing. */
export const BROKEN = {
  'with 422': refusing(() => new SourceRefused('422', { code: 'unprocessable', status: 422 })),
  'with 403': refusing(() => new SourceRefused('403', { code: 'forbidden', status: 403 })),
  'with no customer, whatever the text': finding(() => false),
} satisfies Record<string, SearchKind>

export const OUTAGES = {
  'the network': refusing(() => new SourceUnavailable('reset', { code: 'network' })),
  'a 503': refusing(() => new SourceUnavailable('503', { code: 'server-error', status: 503 })),
  'a rate limit': refusing(() => new RateLimited('429', { code: 'rate-limited', status: 429, waitMs: 3_600_000 })),
} satisfies Record<string, SearchKind>

export const EVERY_CUSTOMER: SearchKind = finding(() => true)

export type SearchKind = (listed: readonly SentRecord[], text: string) => ReturnType<PageSource['search']>

/** The source of such a service, and the texts it was asked to search for. */
export function searchedSource({ shown, listed = shown, search = finding(partial), outage }: SearchedService) {
  const texts: string[] = []
  const source = sourceOf(
    async (window) => (outage !== undefined && texts.length > 0 ? outage() : pageOfList(shown, window)),
    (text) => {
      texts.push(text)
      return outage === undefined ? search(listed, text) : outage()
    },
  )
  return { source, texts }
}

const named = (n: number) => ({ name: null, username: `customer-${n}`, email: `customer-${n}@example.com` })

/** A listed customer to try a search with, and an absent one, as a mirror names them. */
export const CONTROL: Listed = { id: customerId(1), ...named(1) }

export function anAbsentCustomer(n: number, fields: Partial<Candidate> = {}): Candidate {
  const counted = { missingProven: 0, missingScans: 1, missingWhole: 1, createdAtUtc: '', createdAt: '', earlier: [] }
  return { rowId: n, id: customerId(n), ...named(n), ...counted, ...fields }
}
