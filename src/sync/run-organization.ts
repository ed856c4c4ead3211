import { readCredentials, readPrivacy } from '../config/credentials.ts'
import type { Organization } from '../config/organization.ts'
import { factsOf } from '../errors/errors.ts'
import { mirrorOrganization, type Mirroring, type Outcome } from './mirror-organization.ts'
import { awaitMirror } from './await-mirror.ts'
import { openSource, type Source, type SourceEvent, type SourceOptions } from '../source/customers.ts'
import { RateLimit, type SharedTurns } from '../source/rate-limit.ts'
import type { Credentials } from '../signing/signing.ts'
import { PROGRAM_VERSION } from '../machine/version.ts'
import { closing } from '../store/mirror.ts'

/** The settings of a run besides its organization's configuration. */
export type RunSettings = Pick<
  Mirroring,
  'mirror' | 'trigger' | 'now' | 'monotonicMs' | 'signal' | 'onProgress' | 'comesBack'
> & {
  /** Whether to make a partial run, between two nights. */
  isPartial?: boolean | undefined
  /** The rate limits of all organizations run so far: some organizations share one. */
  rateLimits: RateLimits
  /** Opens a rate limit that other processes share; without it, `rateLimit.shared` holds in this process. */
  sharedTurns?: OpenSharedTurns | undefined
  /** A longer wait than this ends the run with RateLimited or SourceUnavailable. Milliseconds. */
  longestWaitMs: number
  /** Between 0 and 1. */
  random: () => number
  /** In place of the connections of the process, and of its timers. */
  wire?: Pick<SourceOptions, 'connections' | 'sleep'> | undefined
  onEvent?: ((event: SourceEvent) => void) | undefined
  onAnswer?: SourceOptions['onAnswer']
}

/** The callbacks through which a run reports its progress. */
export type Talk = { [Callback in 'onProgress' | 'onEvent']: NonNullable<RunSettings[Callback]> }

export type RateLimits = Map<string, RateLimit>

export type OpenSharedTurns = (name: string, requestsPerMinute: number | undefined) => SharedTurns

/**
 * Mirrors one organization as configured; once more, where its key or secret was refused or could not be read and was replaced since. Never
 * throws: every error, including an unreadable secret, is recorded as a failed run and returned with it.
 */
export async function runOrganization(organization: Organization, settings: RunSettings): Promise<Outcome> {
  const credentials = await lookUpCredentials(organization)
  const outcome = await runOnce(organization, credentials, settings)
  if (!isRefused(outcome) || settings.signal.aborted) return outcome
  const found = await lookUpCredentials(organization)
  return isReplaced(credentials, found) ? await runOnce(organization, found, settings) : outcome
}

type FoundCredentials = Credentials | { error: unknown }

function lookUpCredentials(organization: Organization): Promise<FoundCredentials> {
  return readCredentials(organization).catch((error: unknown) => ({ error }))
}

/** Whether the service refuses what is asked, or the credentials cannot be read. A service may answer 403 or 404 to a key that was withdrawn. */
function isRefused({ error }: Outcome): boolean {
  const { again, from } = factsOf(error)
  return again === 'never' && (from === 'answer' || from === 'configuration')
}

function isReplaced(before: FoundCredentials, now: FoundCredentials): boolean {
  if ('error' in now) return false
  return 'error' in before || before.apiKey !== now.apiKey || before.secret !== now.secret
}

async function runOnce(organization: Organization, credentials: FoundCredentials, settings: RunSettings) {
  const privacy = await readPrivacy(organization).catch((error: unknown) => ({ error }))
  const source = openedWith('error' in privacy ? privacy : credentials, organization, settings)
  const { id, scan, pageSize, concurrency, maxRunMs, resumeWithinMs, removals, retention } = organization
  const { now, onEvent } = settings
  const onWait = (waitMs: number) =>
    onEvent?.({ kind: 'waiting', reason: 'mirror-gone', waitMs, untilMs: now() + waitMs })
  // Waits for a server that is gone as long as for the service.
  const mirror = awaitMirror(settings.mirror, { ...settings, onWait })
  // By name, without the references to secrets.
  const mirroring: Mirroring = {
    ...{ ...settings, organization: id, source, mirror },
    ...{ scan, pageSize, concurrency, maxRunMs, resumeWithinMs, removals, retention },
    privacy: 'error' in privacy ? 'unreadable' : privacy,
    requestLimit: settings.isPartial === true ? 'usual' : undefined,
  }
  return closing(source, () => mirrorOrganization(mirroring))
}

/** Where it cannot be opened, a source whose reads fail, so that a failed start is recorded like any other failure. */
function openedWith(found: FoundCredentials, organization: Organization, settings: RunSettings): ConfiguredSource {
  try {
    if ('error' in found) throw found.error
    return openSourceWith(found, organization, settings)
  } catch (error) {
    const fail = () => Promise.reject(error)
    return { readPage: fail, search: fail, counters: { requests: 0, throttled: 0, waitedMs: 0 }, close() {} }
  }
}

type ConfiguredSource = Pick<Source, 'readPage' | 'search' | 'counters' | 'close'>

/** The source of one organization as configured. Throws ConfigError when its credentials cannot be read. */
export async function openConfiguredSource(organization: Organization, settings: OpenSettings): Promise<Source> {
  return openSourceWith(await readCredentials(organization), organization, settings)
}

type OpenSettings = Omit<RunSettings, 'mirror' | 'trigger' | 'signal'>

function openSourceWith(credentials: Credentials, organization: Organization, settings: OpenSettings): Source {
  const { longestWaitMs, now, monotonicMs, random, wire, onEvent, onAnswer } = settings
  const { id, baseUrl, signing, requestTimeoutMs, concurrency, maxWaitMs, privacy } = organization
  return openSource({
    settings: {
      ...{ organization: id, baseUrl, signing, requestTimeoutMs, concurrency, maxWaitMs, longestWaitMs },
      quotesAnswers: privacy === undefined,
    },
    credentials,
    rateLimit: rateLimitOf(organization, settings),
    userAgent: `customer-mirror/${PROGRAM_VERSION}`,
    ...{ now, monotonicMs, random, onEvent, onAnswer, ...wire },
  })
}

/** The rate limit of an organization, opened once for each setting of it. Where some share one, the `concurrency` of the first holds. */
function rateLimitOf(
  { id, concurrency, rateLimit: { requestsPerMinute, shared: name } }: Organization,
  { rateLimits, sharedTurns, monotonicMs, wire }: OpenSettings,
): RateLimit {
  const owner = name === undefined ? `organization ${id} ${concurrency}` : `shared ${name}`
  const key = `${owner} ${requestsPerMinute ?? ''}`
  const opened = rateLimits.get(key)
  if (opened !== undefined) return opened
  const shared = name === undefined ? undefined : sharedTurns?.(name, requestsPerMinute)
  const rateLimit = new RateLimit({ concurrency, requestsPerMinute, shared, monotonicMs, sleep: wire?.sleep })
  rateLimits.set(key, rateLimit)
  return rateLimit
}
