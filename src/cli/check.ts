import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isPostgres, isSharedQueue, shownMirror } from '../address/mirror-address.ts'
import { isPasswordInFile } from '../config/addresses.ts'
import { readPrivacy, readWebhookSecret } from '../config/credentials.ts'
import { processEnvironment } from '../config/environment.ts'
import { chooseOrganizations, type Organization } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { type BucketPlan, configuredPlans, placeOf } from '../copies/publish-plan.ts'
import { checkTargets } from '../copies/target-place.ts'
import { ConfigError, factsOf, isOurs, MirrorUnusable } from '../errors/errors.ts'
import { codeOf, mirrorFault, seenIn } from '../errors/faults.ts'
import { nearestFolder } from '../machine/folders.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { StoredPrivacy } from '../model/mirror.ts'
import { isOtherKey, isSamePolicy, NOTHING_HIDDEN, type PrivacyPolicy } from '../privacy/privacy-policy.ts'
import { sizeAfterRefusal } from '../scan/window.ts'
import type { CustomersPage, Source } from '../source/customers.ts'
import { examineServer, findAdditions, openMirrorIfThere } from '../store/mirror.ts'
import { openConfiguredSource } from '../sync/run-organization.ts'
import { closing, command, namedConfig } from './command.ts'
import { exitCodeOfAll, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'
import { configOption, count, duration, say, shellWord } from './output/say.ts'

/** `customer-mirror check`: reports whether a sync would work, and if not, what to do. */
export function checkCommand(io: Io) {
  return command('check', EXAMPLES)
    .argument('[organization...]', 'ids of organizations (default: all in the configuration)')
    .action(async (ids, { config }) => {
      const findings: Finding[] = []
      for await (const finding of checkEverything(ids, config, io.signal)) {
        const mark = finding.error !== undefined ? '✖' : finding.isWarning ? '!' : '✔'
        const fix = finding.fix === undefined ? '' : `\n    fix: ${finding.fix}`
        say(io.stdout, `${mark} ${finding.what}: ${finding.said.replaceAll('\n', '\n    ')}${fix}\n`)
        findings.push(finding)
      }
      io.exitWith(exitCodeOfFindings(findings))
    })
}

/** An organization that answered counts beside the problems of others, and not beside one that it has too. */
function exitCodeOfFindings(findings: readonly Finding[]): ExitCode {
  const wrong = findings.filter(({ error }) => error !== undefined)
  const isAllCommon = wrong.length > 0 && wrong.every(({ isCommon }) => isCommon)
  const counted = isAllCommon ? wrong : findings.filter(({ error, decides }) => decides || error !== undefined)
  return exitCodeOfAll(counted.map(({ error }) => error))
}

const EXAMPLES = `
Examples:
  $ customer-mirror check
      Node, configuration, secrets, mirror, disk, copies, queue and clock, and the first page of every organization
  $ customer-mirror check acme
      the same for acme alone
`

/** The result of one check. `error` is set if it would prevent a sync; `fix` is what to do. */
type Finding = Found & {
  what: string
  error?: unknown
  /** Whether the exit code counts it although nothing is wrong: an organization that answered. */
  decides?: boolean
  /** Whether its error concerns every organization, also one that answered. */
  isCommon?: boolean
}

/** What a check that did not fail found. `isWarning`: a sync would work, but this should be fixed. */
type Found = { said: string; fix?: string; isWarning?: boolean }

/** The finding of a check, also of one that fails. A defect is thrown again. */
async function find(what: string, check: () => Found | Promise<Found>): Promise<Finding> {
  try {
    return { what, ...(await check()) }
  } catch (error) {
    if (!isOurs(error)) throw error
    return { what, said: error.message, error, fix: factsOf(error).fix }
  }
}

/** Something that works and should be fixed. */
function warning(said: string, fix: string): Found {
  return { said, fix, isWarning: true }
}

/** Checks everything a sync needs, in the order of use. Continues after a problem if possible. */
async function* checkEverything(
  ids: readonly string[],
  file: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  yield { what: 'Node', said: process.versions.node }
  const config = await namedConfig(file)
  const organizations = chooseOrganizations(config, ids)
  yield { what: 'configuration', said: `${config.file}, ${count(config.organizations.length, 'organization')}` }
  const mirror = { ...(await checkMirror(config.mirror)), isCommon: true }
  yield mirror
  for (const plan of configuredPlans(config))
    yield find('publish', async () => ({
      said: 'to' in plan ? await answerOfBucket(plan) : makeable(checkTargets(plan)),
    }))
  yield* checkNotify(config)
  yield* checkQueue(config)
  // A mirror that cannot be used is not read again: a server that does not answer is waited for once.
  const privacy = mirror.error === undefined ? await readStoredPrivacy(config.mirror) : undefined
  for (const organization of organizations) {
    if (signal.aborted) return
    yield* checkOrganization(organization, { stored: privacy?.get(organization.id), config, named: file, signal })
  }
}

function makeable([first = 'it', ...others]: readonly string[]): string {
  return `${first}${others.length === 0 ? '' : ` and ${count(others.length, 'other copy', 'other copies')}`} can be made`
}

/** One request that changes nothing. The client of object storage is loaded only where it is needed. */
async function answerOfBucket(plan: BucketPlan): Promise<string> {
  const { openS3Store } = await import('../copies/objects/s3-store.ts')
  const store = openS3Store(plan, processEnvironment())
  try {
    await store.ask()
    return `${placeOf(plan)} answered; what may be written there shows when it is published`
  } finally {
    store.close()
  }
}

/** Where nights will be reported, and whether the secret that signs these reports can be read. Nothing is sent. */
async function* checkNotify({ notify, heartbeat }: Pick<Config, 'notify' | 'heartbeat'>): AsyncGenerator<Finding> {
  if (notify !== undefined)
    yield find('notify', async () => {
      const { url, secret, only } = notify
      if (secret !== undefined) await readWebhookSecret(secret)
      const which = only === 'failures' ? ' with a failure' : ''
      return {
        said: `a report of each night${which} to ${url.host}, ${secret === undefined ? 'not signed' : 'signed'}`,
      }
    })
  // A path may hold a token.
  if (heartbeat !== undefined)
    yield { what: 'heartbeat', said: `a request to ${heartbeat.url.host} after each good night` }
}

/** Whether the queue on a server answers and keeps what it is given, and whether its password is where it belongs. */
async function* checkQueue({ queue }: Pick<Config, 'queue'>): AsyncGenerator<Finding> {
  if (!isSharedQueue(queue)) return
  if (isPasswordInFile(queue, processEnvironment())) {
    const said = 'its password stands in the configuration file, for every reader of that file'
    const fix =
      'put the whole address into the environment variable CUSTOMER_MIRROR_QUEUE, and take queue out of the file.'
    yield { what: 'queue', ...warning(said, fix) }
  }
  const { probeQueue } = await import('../../jobs/queue/backend.ts')
  const probed = await find('queue', async () => {
    const { place, dropsKeysBy: policy } = await probeQueue(queue)
    if (policy === undefined) return { said: `${place} answered` }
    return warning(
      `${place} answered; its server drops keys when it is full (maxmemory-policy ${policy}): jobs, schedules and pauses may vanish`,
      'set maxmemory-policy to noeviction in the configuration of that server.',
    )
  })
  yield { ...probed, isCommon: true }
}

/** Opens the mirror and has all of it read. If there is none yet, checks that one can be made. Nothing is made. */
function checkMirror(address: string): Promise<Finding> {
  return find('mirror', () => (isPostgres(address) ? onServer(address) : inFile(address)))
}

async function inFile(file: string): Promise<Found> {
  try {
    const opened = await openMirrorIfThere(file)
    if (opened === undefined) {
      if (existsSync(file)) await access(file, constants.W_OK)
      // Rights alone do not show whether anything can be made in a folder: in /proc, nothing can.
      else rmdirSync(mkdtempSync(join(nearestFolder(dirname(file)), '.customer-mirror-check-')))
      return { said: `${file} will be created by the first sync` }
    }
    requireSound(file, await closing(opened, (mirror) => mirror.findDamage()))
    await access(file, constants.W_OK)
    return withAdditions(`${file}, sound and writable`, await findAdditions(file))
  } catch (error) {
    const seen = seenIn(error)
    throw seen === undefined ? error : mirrorFault(file, seen, { cause: error })
  }
}

function requireSound(mirror: string, damages: readonly string[]): void {
  if (damages.length > 0)
    throw new MirrorUnusable(`${mirror}: is damaged: ${damages.slice(0, 3).join('; ')}`, { code: 'damaged' })
}

function withAdditions(said: string, added: readonly string[]): Found {
  if (added.length === 0) return { said }
  const named = `${added.slice(0, 5).join(', ')}${added.length > 5 ? ', …' : ''}`
  return warning(
    `${said}; someone added or changed there what may refuse a run: ${named}`,
    'Drop what nothing needs; a run that it refuses ends as foreign, and names it.',
  )
}

type Examined = Awaited<ReturnType<typeof examineServer>>

async function onServer(address: string): Promise<Found> {
  const shown = shownMirror(address)
  const examined = await examineServer(address)
  const { schema, version, tables, server, isEncrypted, isPooled } = examined
  // To be asked before the mirror is read, which takes its columns for granted.
  if (tables?.unfilled != null)
    throw new MirrorUnusable(
      `${shown}: the column ${tables.unfilled}, which someone added, has no default. Give it one, or let it be null.`,
      { code: 'foreign' },
    )
  requireWritable(shown, examined)
  const opened = await openMirrorIfThere(address)
  if (opened !== undefined) requireSound(shown, await closing(opened, (mirror) => mirror.findDamage()))
  const rights = examined.mayVacuum
    ? ''
    : '; this user does not own its tables, and only their owner can finish forget (VACUUM)'
  const state =
    opened === undefined
      ? `the schema ${schema} will be made by the first sync`
      : `schema ${schema} version ${version ?? '?'}, sound and writable${rights}`
  const way = `${isEncrypted ? 'TLS' : 'no TLS'}${isPooled ? ', through a pooler' : ''}`
  return withAdditions(`${shown}, PostgreSQL ${server}, ${way}, ${state}`, tables?.added ?? [])
}

function requireWritable(shown: string, { isReadOnly, mayWrite, schema, version, tables }: Examined): void {
  if (isReadOnly) throw new MirrorUnusable(`${shown}: ${READ_ONLY}`, { code: 'denied' })
  if (mayWrite) return
  const where = tables?.unwritable == null ? '' : `: it lacks rights to the table ${tables.unwritable}`
  const fix =
    version === undefined
      ? 'Let it own the schema, or GRANT it CREATE on the database.'
      : 'Name the user who owns it in the address, or have this one own it.'
  throw new MirrorUnusable(`${shown}: this user may not write the schema ${schema}${where}. ${fix}`, { code: 'denied' })
}

const READ_ONLY =
  'the server takes no writes: it is a standby, or read-only by its settings. Name the primary server as mirror, or make this one writable.'

/** How an organization is stored: its policy when it was last run, and what is left of values from before it. */
type Stored = Omit<StoredPrivacy, 'organization'>

/** How each organization is stored that was ever read; one that never had a policy, as it was sent. */
async function readStoredPrivacy(address: string): Promise<ReadonlyMap<string, Stored>> {
  const opened = await openMirrorIfThere(address)
  if (opened === undefined) return new Map()
  return closing(opened, async (mirror) => {
    const stored = new Map((await mirror.listPrivacy()).map((each) => [each.organization, each]))
    const asSent: Stored = { policy: NOTHING_HIDDEN, left: 'nothing' }
    const runs = await mirror.listLastRuns()
    return new Map(runs.map(({ organization }) => [organization, stored.get(organization) ?? asSent]))
  })
}

/** `stored` is undefined where that is not known, and `named` the configuration file as the user named it. */
type Known = { stored: Stored | undefined; config: Config; named: string | undefined; signal: AbortSignal }

/** What one organization needs: its secrets, its privacy, its schedule, and the answer of its service. */
async function* checkOrganization(organization: Organization, known: Known): AsyncGenerator<Finding> {
  yield* exposedSecrets(organization)
  yield* checkPrivacy(organization, known)
  yield* checkSchedule(organization, known.config.file)
  yield await checkAnswer(organization, known.signal)
}

/** The permissions of users who neither own a file nor belong to its group. The group may read: Kubernetes mounts secrets so. */
const EVERY_USER = process.platform === 'win32' ? 0 : 0o007

/** The files of keys and secrets that every user of this machine may open. Missing files are reported where they are read. */
async function* exposedSecrets({ id, apiKey, secret, privacy }: Organization): AsyncGenerator<Finding> {
  for (const [what, reference] of Object.entries({ 'API key': apiKey, secret, 'privacy key': privacy?.key })) {
    if (reference === undefined || !('file' in reference)) continue
    const { file } = reference
    const stats = await stat(file).catch(() => undefined)
    if (stats === undefined || !stats.isFile() || (stats.mode & EVERY_USER) === 0) continue
    const mode = (stats.mode & 0o777).toString(8).padStart(3, '0')
    const fix = `chmod 600 ${shellWord(file)}`
    const said = `every user of this machine has access to ${file} (its mode is ${mode})`
    yield { what: `${what} of ${id}`, ...warning(said, fix) }
  }
}

/** What is hidden, whether its key can be read, and whether what is stored in the mirror follows it. */
async function* checkPrivacy(organization: Organization, { stored, config, named }: Known) {
  const what = `privacy of ${organization.id}`
  const { drop = [], hash = [] } = organization.privacy ?? {}
  const hidden = Object.entries({ drops: drop, hashes: hash }).filter(([, fields]) => fields.length > 0)
  let policy: PrivacyPolicy | undefined
  const read = await find(what, async () => {
    policy = await readPrivacy(organization)
    return { said: hidden.map(([does, fields]) => `${does} ${fields.join(', ')}`).join('; ') }
  })
  if (organization.privacy !== undefined || read.error !== undefined) yield read
  if (policy === undefined || stored === undefined) return
  const sync = `customer-mirror sync ${organization.id}${configOption(named)}`
  if (isOtherKey(stored.policy, policy)) {
    const said =
      'the key is not the one of the stored hashes: the next run replaces them, and those of removed customers are lost'
    yield { what, ...warning(said, 'put the former key back, unless it is meant to change') }
  } else if (stored.left === 'values' || !isSamePolicy(stored.policy, policy)) {
    yield { what, ...warning('the stored values do not follow the policy yet', sync) }
  } else if (stored.left === 'free space') {
    const said = `values from before the policy may still stand in free space of ${shownMirror(config.mirror)}`
    yield { what, ...warning(said, `close the programs that read it, free some space, then ${sync}`) }
  }
}

/** Whether a worker would take the schedule. */
async function* checkSchedule(organization: Organization, file: string): AsyncGenerator<Finding> {
  const { scheduleMistakes } = await import('../../jobs/schedule/due-times.ts')
  const mistakes = scheduleMistakes({ organizations: [organization], file }, Date.now())
  if (mistakes.length === 0) return
  const said = mistakes.map(({ message }) => message).join('\n')
  const fix = 'Change that line of the schedule.'
  yield { what: `schedule of ${organization.id}`, said, error: new ConfigError(mistakes), fix }
}

/** Asks for the first page as a run does, without waiting. */
async function checkAnswer(organization: Organization, signal: AbortSignal): Promise<Finding> {
  const what = organization.id
  const found = await find(what, async () => {
    const clocks = { now: Date.now, monotonicMs, random: Math.random }
    const source = await openConfiguredSource(organization, { rateLimits: new Map(), longestWaitMs: 0, ...clocks })
    try {
      return answered(await firstPage(source, organization.pageSize, signal), source)
    } finally {
      source.close()
    }
  })
  if (found.error === undefined) return { ...found, decides: true }
  if (signal.aborted) return { what, said: 'stopped before it answered' }
  const { title, fix } = factsOf(found.error)
  return { ...found, said: `${title}. ${found.said}`, fix: fix.replaceAll('<organization>', what) }
}

type FirstPage = CustomersPage & { refusedSize?: number }

/** The first page; in the size that a run tries next, where the service refuses that of the configuration. */
async function firstPage(source: Source, size: number, signal: AbortSignal): Promise<FirstPage> {
  const read = (asked: number) => source.readPage({ page: 1, size: asked }, { signal })
  return read(size).catch(async (error: unknown) => {
    const smaller = codeOf(error) === 'unprocessable' ? sizeAfterRefusal(size) : undefined
    if (smaller === undefined) throw error
    return { ...(await read(smaller)), refusedSize: size }
  })
}

function answered(page: FirstPage, { clockOffsetMs, clockCorrectionMs }: Source): Found {
  const { total, size, askedSize, refusedSize } = page
  const customers = total === undefined ? `${page.records().length} on the first page` : count(total, 'customer')
  const refused = refusedSize === undefined ? '' : `; it refuses pages of ${refusedSize} and serves ${askedSize}`
  const capped = size < askedSize ? `; the service caps pages at ${size}` : ''
  const said = `answered, ${customers}${refused}${capped}, ${clockWords(clockOffsetMs)}`
  return clockCorrectionMs === 0 ? { said } : warning(`${said}, and requests are signed with its time`, CLOCK_FIX)
}

const CLOCK_FIX =
  'Set the clock of this machine (timedatectl set-ntp true). If it is right, report it to the owner of the service.'

function clockWords(offsetMs: number | undefined): string {
  if (offsetMs === undefined) return 'clock unknown'
  if (Math.abs(offsetMs) < 2000) return 'clocks agree'
  return `its clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} ours`
}
