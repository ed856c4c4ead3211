import type { Mirror } from '../../src/model/mirror.ts'
import type { Organization } from '../../src/config/organization.ts'
import { runOrganization, type RunSettings } from '../../src/sync/run-organization.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { rowsOf } from './mirror-file.ts'

export type Syncing = Partial<Organization> &
  Partial<Pick<RunSettings, 'signal' | 'onProgress' | 'pageLimit' | 'now' | 'monotonicMs'>>

/** One run of an organization of a sandbox, over HTTP, as the program makes it; backing off takes no time. */
export async function syncSandbox(
  sandbox: Sandbox,
  mirror: Mirror,
  { signal, onProgress, pageLimit, now = Date.now, monotonicMs = now, ...settings }: Syncing = {},
): Promise<Outcome> {
  return runOrganization(configured(sandbox, settings), {
    mirror,
    trigger: 'sync',
    rateLimits: new Map(),
    longestWaitMs: 10_000,
    now,
    monotonicMs,
    random: () => 0,
    signal: signal ?? new AbortController().signal,
    onProgress,
    pageLimit,
  })
}

/** An organization of a sandbox as configured, with these settings. */
export function configured({ organizations, recipe }: Sandbox, settings: Partial<Organization>): Organization {
  const { id = 'acme' } = settings
  const found = organizations.find((organization) => organization.id === id)
  if (found === undefined) throw new Error(`The sandbox has no organization ${id}`)
  return {
    id,
    baseUrl: new URL(found.baseUrl),
    apiKey: { literal: found.apiKey },
    secret: { literal: found.secret },
    pageSize: 100,
    concurrency: 4,
    requestTimeoutMs: 5000,
    maxWaitMs: 60_000,
    maxRunMs: 3_600_000,
    resumeWithinMs: 6 * 3_600_000,
    scan: 'chain',
    removals: { after: 2, maxShare: 0.1 },
    rateLimit: {},
    signing: recipe,
    schedule: undefined,
    quick: { maxRequests: { share: 0.1 } },
    ...settings,
  }
}

/** The ids of the active customers in the mirror. */
export function activeIds(mirror: Pick<Mirror, 'file'>, organization = 'acme'): Set<string> {
  const rows = rowsOf(mirror.file, 'SELECT id FROM active_customers WHERE organization = ?', organization)
  return new Set(rows.map(({ id }) => String(id)))
}

/** The ids of the customers that went missing or were removed. */
export function goneIds(mirror: Pick<Mirror, 'file'>, organization = 'acme'): Set<string> {
  const sql =
    'SELECT id FROM customers WHERE organization = ? AND (missing_since IS NOT NULL OR removed_at IS NOT NULL)'
  return new Set(rowsOf(mirror.file, sql, organization).map(({ id }) => String(id)))
}
