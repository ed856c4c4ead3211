import { readCredentials, readPrivacy } from './config/credentials.ts'
import type { Organization } from './config/organization.ts'
import { mirrorOrganization, type Mirroring, type Outcome } from './mirror-organization.ts'
import { openSource, type Source, type SourceEvent } from './source/customers.ts'
import type { IdleAgents } from './source/idle-agents.ts'
import { createRateLimit, type RateLimit } from './source/rate-limit.ts'
import { version } from './version.ts'

/** The settings of a run besides its organization's configuration. */
export type RunSettings = Pick<
  Mirroring,
  'mirror' | 'trigger' | 'pageLimit' | 'now' | 'monotonicMs' | 'signal' | 'onProgress' | 'comesBack'
> & {
  /** Whether to make a quick run. */
  quick?: boolean | undefined
  /** The rate limits of all organizations run so far: some organizations share one. */
  rateLimits: RateLimits
  /** Connections of finished runs, to reuse; without it, each run opens its own. */
  agents?: IdleAgents | undefined
  /** A longer wait than this ends the run with RateLimited or SourceUnavailable. Milliseconds. */
  longestWaitMs: number
  /** Between 0 and 1. */
  random: () => number
  onEvent?: ((event: SourceEvent) => void) | undefined
  /** Called for every answer of the service. */
  onAnswer?: ((answer: { status: number }) => void) | undefined
}

/** Rate limits by name. */
export type RateLimits = Map<string, RateLimit>

/**
 * Mirrors one organization as configured. Never throws: every error, including an unreadable secret, is recorded as a failed run
 * and returned with it.
 */
export async function runOrganization(organization: Organization, settings: RunSettings): Promise<Outcome> {
  const privacy = await readPrivacy(organization).catch((error: unknown) => ({ error }))
  const opening = 'error' in privacy ? Promise.reject(privacy.error) : openConfiguredSource(organization, settings)
  const source = await opening.catch(neverOpened)
  try {
    const mirroring = mirroringOf(organization, source, settings)
    return await mirrorOrganization({ ...mirroring, privacy: 'error' in privacy ? 'unreadable' : privacy })
  } finally {
    await source.close()
  }
}

/** The settings of the run, by name, without the references to secrets. */
function mirroringOf(
  { id, scan, pageSize, concurrency, maxRunMs, resumeWithinMs, removals, retention, quick }: Organization,
  source: Mirroring['source'],
  { mirror, trigger, quick: isQuick, pageLimit, now, monotonicMs, random, signal, onProgress, comesBack }: RunSettings,
): Mirroring {
  return {
    ...{ organization: id, source, mirror, trigger },
    quick: isQuick === true ? quick.maxRequests : undefined,
    ...{ scan, pageSize, pageLimit, concurrency, maxRunMs, resumeWithinMs, removals, retention },
    ...{ now, monotonicMs, random, signal, onProgress, comesBack },
  }
}

/** The source of one organization as configured. Throws ConfigError when its credentials cannot be read. */
export async function openConfiguredSource(
  organization: Organization,
  settings: Omit<RunSettings, 'mirror' | 'trigger' | 'signal'>,
): Promise<Source> {
  const { rateLimits, agents, longestWaitMs, now, monotonicMs, random, onEvent, onAnswer } = settings
  const { id, baseUrl, signing, requestTimeoutMs, concurrency, maxWaitMs, rateLimit: configured } = organization
  const quotesAnswers = organization.privacy === undefined
  const name = configured.shared === undefined ? `organization ${id}` : `shared ${configured.shared}`
  const { requestsPerMinute } = configured
  const rateLimit = rateLimits.get(name) ?? createRateLimit({ concurrency, requestsPerMinute, monotonicMs })
  rateLimits.set(name, rateLimit)
  return openSource({
    settings: { baseUrl, signing, requestTimeoutMs, concurrency, maxWaitMs, longestWaitMs, quotesAnswers },
    credentials: await readCredentials(organization),
    rateLimit,
    agents,
    userAgent: `customer-mirror/${version()}`,
    now,
    monotonicMs,
    random,
    onEvent,
    onAnswer,
  })
}

/** A source whose reads fail with `error`, so that a failed start is recorded like any other failure. */
function neverOpened(error: unknown): Pick<Source, 'readPage' | 'search' | 'counters' | 'close'> {
  return {
    readPage: () => Promise.reject(error),
    search: () => Promise.reject(error),
    counters: { requests: 0, throttled: 0, waitedMs: 0 },
    close: () => Promise.resolve(),
  }
}
