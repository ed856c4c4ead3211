import { stat } from 'node:fs/promises'
import { processEnvironment, type Environment } from '../../config/environment.ts'
import type { Organization, SecretReference } from '../../config/organization.ts'
import { codeOf } from '../../errors/faults.ts'
import { isOurs, SourceUnavailable } from '../../errors/errors.ts'
import { monotonicMs, sleep } from '../../machine/timers.ts'
import { openConfiguredSource } from '../../sync/run-organization.ts'
import { sizeAfterRefusal } from '../../scan/window.ts'
import type { CustomersPage, Source } from '../../source/customers.ts'
import { type Finding, failedCheck } from './finding.ts'
import { explainFailure } from '../output/explain-failure.ts'
import { count, duration, configOption } from '../output/wording.ts'
import { readPrivacy, readCredentials } from '../../config/credentials.ts'
import { isOtherKey, isSamePolicy, NOTHING_HIDDEN, type PrivacyPolicy } from '../../privacy/privacy-policy.ts'
import type { StoredPrivacy } from '../../model/mirror.ts'
import { shownMirror } from '../../address/mirror-address.ts'
import { openMirrorIfThere } from '../../store/mirror.ts'

/** Asks one organization for its first page as a run does, without waiting, and reports what the answer means. */
export async function checkOrganization(organization: Organization, signal: AbortSignal): Promise<Finding> {
  const what = organization.id
  try {
    const source = await openConfiguredSource(organization, {
      rateLimits: new Map(),
      longestWaitMs: 0,
      now: Date.now,
      monotonicMs,
      random: Math.random,
    })
    try {
      return { what, decides: true, ...answered(await firstPage(source, organization.pageSize, signal), source) }
    } finally {
      source.close()
    }
  } catch (error) {
    if (signal.aborted) return { what, said: 'stopped before it answered' }
    if (!isOurs(error)) throw error
    const { title, fix } = explainFailure(error)
    const named = fix.replaceAll('<organization>', organization.id) + unusedProxy(error, processEnvironment())
    return { what, said: `${title}. ${error.message}`, error, fix: named }
  }
}

type FirstPage = CustomersPage & { refusedSize?: number }

/** The first page; in the size that a run tries next, where the service refuses that of the configuration. */
async function firstPage(source: Source, size: number, signal: AbortSignal): Promise<FirstPage> {
  try {
    return await source.readPage({ page: 1, size }, { signal })
  } catch (error) {
    const smaller = codeOf(error) === 'unprocessable' ? sizeAfterRefusal(size) : undefined
    if (smaller === undefined) throw error
    return { ...(await source.readPage({ page: 1, size: smaller }, { signal })), refusedSize: size }
  }
}

function answered(page: FirstPage, { clockOffsetMs, clockCorrectionMs }: Source): Omit<Finding, 'what'> {
  const { total, size, askedSize, refusedSize } = page
  const received = page.records().length
  const refused = refusedSize === undefined ? '' : `; it refuses pages of ${refusedSize} and serves ${askedSize}`
  const capped = size < askedSize ? `; the service caps pages at ${size}` : ''
  const signed = clockCorrectionMs === 0 ? '' : ', and requests are signed with its time'
  const said = `answered, ${customersWords(total, received)}${refused}${capped}, ${clockWords(clockOffsetMs)}${signed}`
  if (isLeftEmpty(total, received)) return { said, isWarning: true, fix: EMPTY_FIX }
  return clockCorrectionMs === 0 ? { said } : { said, isWarning: true, fix: CLOCK_FIX }
}

const EMPTY_FIX = 'Ask the owner of the service why its list is empty, and look for a cache or a proxy in between.'
const CLOCK_FIX =
  'Set the clock of this machine (timedatectl set-ntp true). If it is right, report it to the owner of the service.'

function customersWords(total: number | undefined, received: number): string {
  if (total === undefined) return `${received} on the first page`
  return `${count(total, 'customer')}${isLeftEmpty(total, received) ? ' by its total, and none on the first page' : ''}`
}

function isLeftEmpty(total: number | undefined, received: number): boolean {
  return received === 0 && (total ?? 0) > 0
}

function clockWords(offsetMs: number | undefined): string {
  if (offsetMs === undefined) return 'clock unknown'
  if (Math.abs(offsetMs) < 2000) return 'clocks agree'
  return `its clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} ours`
}

const NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** What to add to the fix where a service was not reached although the environment names a proxy, as other programs use it. */
function unusedProxy(error: unknown, environment: Environment): string {
  if (!(error instanceof SourceUnavailable) || error.code === 'tls' || error.status !== undefined) return ''
  const name = NAMES.find((each) => (environment[each] ?? '') !== '')
  return name === undefined
    ? ''
    : ` ${name} is set, but requests go to the service directly: let this machine reach it.`
}

/** How an organization is stored: its policy when it was last run, and what is left of values from before it. */
type Stored = Omit<StoredPrivacy, 'organization'>

/**
 * What an organization hides, whether its key can be read, and whether what is stored in the mirror follows it; `stored` is undefined where
 * that is not known. `config`: the file that the user named.
 */
export async function* checkPrivacy(
  organization: Organization,
  {
    stored,
    mirror,
    config,
    signal,
  }: { stored: Stored | undefined; mirror: string; config: string | undefined; signal: AbortSignal },
): AsyncGenerator<Finding> {
  const what = `privacy of ${organization.id}`
  const policy = await policyOf(organization, signal)
  if ('error' in policy) {
    yield failedCheck(what, policy.error)
    return
  }
  if (organization.privacy !== undefined) yield { what, said: inWords(organization.privacy) }
  if (stored === undefined) return
  yield* warnOf(what, {
    policy,
    stored,
    mirror,
    sync: `customer-mirror sync ${organization.id}${configOption(config)}`,
  })
}

async function policyOf(organization: Organization, signal: AbortSignal): Promise<PrivacyPolicy | { error: unknown }> {
  try {
    return await readPrivacy(organization, { now: Date.now, sleep, signal })
  } catch (error) {
    return { error }
  }
}

function inWords({ drop, hash }: NonNullable<Organization['privacy']>): string {
  return [
    ...(drop.length > 0 ? [`drops ${drop.join(', ')}`] : []),
    ...(hash.length > 0 ? [`hashes ${hash.join(', ')}`] : []),
  ].join('; ')
}

type Compared = { policy: PrivacyPolicy; stored: Stored; mirror: string; sync: string }

function* warnOf(what: string, { policy, stored, mirror, sync }: Compared): Generator<Finding> {
  const warning = (said: string, fix: string): Finding => ({ what, said, fix, isWarning: true })
  if (isOtherKey(stored.policy, policy)) {
    yield warning(
      'the key is not the one of the stored hashes: the next run replaces them, and those of removed customers are lost',
      'put the former key back, unless it is meant to change',
    )
  } else if (stored.left === 'values' || !isSamePolicy(stored.policy, policy)) {
    yield warning('the stored values do not follow the policy yet', sync)
  } else if (stored.left === 'free space') {
    const said = `values from before the policy may still stand in free space of ${shownMirror(mirror)}`
    yield warning(said, `close the programs that read it, free some space, then ${sync}`)
  }
}

/** How each organization is stored that was ever read; none where the mirror cannot be read, which is a finding of its own. */
export async function readStoredPrivacy(address: string): Promise<ReadonlyMap<string, Stored>> {
  try {
    const mirror = await openMirrorIfThere(address)
    if (mirror === undefined) return new Map()
    try {
      const stored = new Map((await mirror.listPrivacy()).map((each) => [each.organization, each]))
      const runs = await mirror.listLastRuns()
      return new Map(runs.map(({ organization }) => [organization, stored.get(organization) ?? AS_SENT]))
    } finally {
      await mirror.close()
    }
  } catch (error) {
    if (isOurs(error)) return new Map()
    throw error
  }
}

/** For an organization that never had a policy. */
const AS_SENT: Stored = { policy: NOTHING_HIDDEN, left: 'nothing' }

/** A key or secret that is used as it stands, and is probably meant as something else. Its value is not repeated. */
type UnlikelyCredential = { what: 'API key' | 'secret'; said: string; fix: string }

/** The key and the secret of an organization that look like something else. None where they cannot be read, which is reported elsewhere. */
export async function unlikelyCredentials(
  organization: Pick<Organization, 'id' | 'apiKey' | 'secret' | 'signing'>,
  environment: Environment,
): Promise<UnlikelyCredential[]> {
  const read = await readCredentials(organization, environment).catch((error: unknown) => {
    if (isOurs(error)) return undefined
    throw error
  })
  if (read === undefined) return []
  return [
    ...unlikely('API key', organization.apiKey, read.apiKey),
    ...unlikely('secret', organization.secret, read.secret),
  ]
}

function unlikely(what: UnlikelyCredential['what'], reference: SecretReference, text: string): UnlikelyCredential[] {
  if ('literal' in reference) return REFERENCE.test(text) ? [{ what, ...LIKE_REFERENCE }] : []
  if (!ASSIGNMENT.test(text)) return []
  const place = 'file' in reference ? reference.file : `the variable ${reference.env}`
  const said = `${place} holds NAME=value, and all of it is used: the service may refuse that`
  return [{ what, said, fix: 'keep the value alone there, without the name and the = in front of it.' }]
}

/** A shell's or a template's way to name a variable or a file. */
const REFERENCE = /^(?:\$\{?[A-Za-z_]\w*\}?|(?:env|file):.+)$/

const LIKE_REFERENCE = {
  said: 'its text in the configuration names a variable or a file, and is used as it stands',
  fix: 'write { env: NAME } or { file: path }, as is done everywhere but on this machine.',
}

/** A line of an env file. The end of base64 has nothing but more signs behind the first one. */
const ASSIGNMENT = /^(?:export\s+)?[A-Za-z_]\w+=[^=]/

/** A file with a key or a secret that every user of this machine may read or write. */
export type ExposedSecret = { file: string; what: 'API key' | 'secret' | 'privacy key'; mode: string; isOwn: boolean }

/** The files of an organization's keys and secret that are open to every user. Missing files are not reported here. */
export async function exposedSecrets({
  apiKey,
  secret,
  privacy,
}: Pick<Organization, 'apiKey' | 'secret' | 'privacy'>): Promise<ExposedSecret[]> {
  const files = [
    { what: 'API key', reference: apiKey },
    { what: 'secret', reference: secret },
    ...(privacy?.key === undefined ? [] : [{ what: 'privacy key', reference: privacy.key } as const]),
  ] as const
  const found = await Promise.all(
    files.map(async ({ what, reference }) => {
      if (!('file' in reference)) return []
      const { file } = reference
      const stats = await stat(file).catch(() => undefined)
      if (stats === undefined || !stats.isFile() || (stats.mode & EVERY_USER) === 0) return []
      const user = process.getuid?.()
      const isOwn = user === 0 || user === stats.uid
      return [{ file, what, mode: (stats.mode & 0o777).toString(8).padStart(3, '0'), isOwn }]
    }),
  )
  return found.flat()
}

/** The permissions of users who neither own a file nor belong to its group. The group may read: Kubernetes mounts secrets so. */
const EVERY_USER = process.platform === 'win32' ? 0 : 0o007
