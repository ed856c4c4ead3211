import { clockWords, count, say, shellWord, withConfig } from './output/print.ts'
import { command, type Io, oneExitCode } from './command.ts'
import { CLOCKS, namedConfig } from './opening.ts'
import { existsSync, mkdtempSync, realpathSync, rmdirSync } from 'node:fs'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isPostgres, isSharedQueue, shownMirror } from '../address/mirror-address.ts'
import { isPasswordInFile } from '../config/addresses.ts'
import { readPrivacy, readReaders, readWebhookSecret } from '../config/credentials.ts'
import { processEnvironment } from '../config/environment.ts'
import { chooseOrganizations, type Organization } from '../config/organization.ts'
import type { Config } from '../config/read-config.ts'
import { type BucketPlan, configuredPlans, ownerAlone, planPlace, type TargetPlan } from '../copies/publish-plan.ts'
import { checkTargets } from '../copies/target-place.ts'
import { factsOf, isOurs, MirrorUnusable } from '../errors/errors.ts'
import { mirrorFault, seenIn } from '../errors/faults.ts'
import { nearestFolder } from '../machine/folders.ts'
import { isOtherKey } from '../privacy/hidden-values.ts'
import { closing, examineServer, findAdditions, ifThere, openMirrorToRead } from '../store/mirror.ts'
import { openConfiguredSource } from '../sync/run-organization.ts'

export function checkCommand(io: Io) {
  return command('check', {
    check: 'configuration, secrets, mirror, copies, queue and clock, and the first page of every organization',
    'check acme': 'the same for acme alone',
  })
    .argument('[organization...]', 'ids of organizations (default: all in the configuration)')
    .action(async (ids, { config: file }) => {
      const config = await namedConfig(file)
      const organizations = chooseOrganizations(config, ids)
      const wrong: { what: string; error: unknown; isCommon?: boolean | undefined }[] = []
      let isAnswered = false
      const report = async ({ what, isCommon, isAnswer = false, run }: Check) => {
        if (io.signal.aborted) return
        const found = await resultOf(run)
        if (found === undefined || (isAnswer && io.signal.aborted)) return
        const { said, fix, error } = found
        const title = error !== undefined && isAnswer ? `${factsOf(error).title}. ` : ''
        const mark = error !== undefined ? '✖' : fix === undefined ? '✔' : '!'
        const below = fix === undefined ? '' : `\n    fix: ${withConfig(fix, file).replaceAll('<organization>', what)}`
        say(io.stdout, `${mark} ${what}: ${title}${withConfig(said, file).replaceAll('\n', '\n    ')}${below}\n`)
        if (error !== undefined) wrong.push({ what, error, isCommon })
        else isAnswered ||= isAnswer
      }
      for (const check of commonChecks(config)) await report(check)
      const mirror = wrong.some(({ what }) => what === 'mirror') ? undefined : config.mirror
      for (const organization of organizations)
        for (const check of checksOf(organization, mirror, io.signal)) await report(check)
      // An organization that answered counts beside the problems of others, and not beside one that it has too.
      const isMixed = isAnswered && wrong.some(({ isCommon }) => !isCommon)
      const codes = wrong.map(({ error }) => factsOf(error).exitCode)
      io.exitWith(oneExitCode([...codes, ...(isMixed ? ([0] as const) : [])]))
    })
}

/** A check and what it is of. Its `run` throws what would prevent a sync, `serve` or the report of a night. */
type Check = {
  what: string
  /** What was found where all is well; with a `fix` where a sync would work, but this should be fixed; undefined: nothing to say. */
  run: () => Found | undefined | Promise<Found | undefined>
  /** Whether it concerns every organization, also one that answers. */
  isCommon?: boolean
  isAnswer?: boolean
}

type Found = string | { said: string; fix?: string; error?: unknown }

/** What a check found, also one that fails. A defect is thrown again. */
async function resultOf(run: Check['run']): Promise<Exclude<Found, string> | undefined> {
  try {
    const found = await run()
    return typeof found === 'string' ? { said: found } : found
  } catch (error) {
    if (!isOurs(error)) throw error
    return { said: error.message, error, fix: factsOf(error).fix }
  }
}

/** What every organization needs, in the order of use. Nothing is sent, and nothing is made. */
function commonChecks(config: Config): Check[] {
  const { mirror, queue, notify, heartbeat, serve } = config
  const isShared = isSharedQueue(queue)
  const checks: (Check | false | undefined)[] = [
    { what: 'Node', run: () => process.versions.node },
    { what: 'configuration', run: () => `${config.file}, ${count(config.organizations.length, 'organization')}` },
    { what: 'mirror', isCommon: true, run: () => (isPostgres(mirror) ? onServer(mirror) : inFile(mirror)) },
    ...configuredPlans(config).map((plan): Check => {
      return { what: 'publish', run: () => ('to' in plan ? answerOfBucket(plan) : makeable(plan)) }
    }),
    notify && { what: 'notify', run: () => nightsReported(notify) },
    serve && { what: 'serve', run: async () => count((await readReaders(config)).length, 'reader') },
    // A path may hold a token.
    heartbeat && { what: 'heartbeat', run: () => `a request to ${heartbeat.url.host} after each good night` },
    isShared && isPasswordInFile(queue, processEnvironment()) && { what: 'queue', run: () => EXPOSED },
    isShared && { what: 'queue', isCommon: true, run: () => answerOfQueue(queue) },
  ]
  return checks.filter((check) => typeof check === 'object')
}

const EXPOSED = {
  said: 'its password stands in the configuration file, for every reader of that file',
  fix: 'put the whole address into the environment variable CUSTOMER_MIRROR_QUEUE, and take queue out of the file.',
}

function makeable(plan: Exclude<TargetPlan, BucketPlan>): Found {
  const [first = 'it', ...others] = checkTargets(plan)
  const can = `${first}${others.length === 0 ? '' : ` and ${count(others.length, 'other copy', 'other copies')}`} can be made`
  const alone = ownerAlone(plan)
  return alone === undefined ? can : { said: `${can}, and ${alone.said}`, fix: alone.fix }
}

async function answerOfBucket(plan: BucketPlan): Promise<string> {
  const { openS3Store } = await import('../copies/objects/bucket.ts')
  await closing(openS3Store(plan, processEnvironment()), (store) => store.ask())
  return `${planPlace(plan)} answered; what may be written there shows when it is published`
}

async function nightsReported({ url, secret, only }: NonNullable<Config['notify']>): Promise<string> {
  if (secret !== undefined) await readWebhookSecret(secret)
  const which = only === 'failures' ? ' with a failure' : ''
  return `a report of each night${which} to ${url.host}, ${secret === undefined ? 'not signed' : 'signed'}`
}

async function answerOfQueue(queue: string): Promise<Found> {
  const { probeQueue } = await import('../../jobs/queue/backend.ts')
  const { place, dropsKeysBy: policy } = await probeQueue(queue)
  if (policy === undefined) return `${place} answered`
  return {
    said: `${place} answered; its server drops keys when it is full (maxmemory-policy ${policy}): jobs, schedules and pauses may vanish`,
    fix: 'set maxmemory-policy to noeviction in the configuration of that server.',
  }
}

/** Opens the mirror and has all of it read. If there is none yet, checks that one can be made. */
async function inFile(file: string): Promise<Found> {
  // They may have the rights that the mirror had before.
  const beside = ['-wal', '-shm'].map((end) => (existsSync(file) ? realpathSync.native(file) : file) + end)
  try {
    const opened = await ifThere(openMirrorToRead(file))
    if (opened === undefined) {
      if (existsSync(file)) await access(file, constants.W_OK)
      // Rights alone do not show whether anything can be made in a folder: in /proc, nothing can.
      else rmdirSync(mkdtempSync(join(nearestFolder(dirname(file)), '.customer-mirror-check-')))
      return `${file} will be created by the first sync`
    }
    requireSound(file, await closing(opened, (mirror) => mirror.findDamage()))
    for (const each of [file, ...beside].filter((path) => existsSync(path))) await access(each, constants.W_OK)
    const { blocks, bavail, bsize } = await statfs(file)
    // Some file systems do not count.
    if (blocks > 0 && bavail * bsize < 2 ** 20)
      throw mirrorFault(file, { fault: 'full', said: 'its disk has room for less than a megabyte' })
    return withAdditions(`${file}, sound and writable`, await findAdditions(file))
  } catch (error) {
    const seen = seenIn(error)
    const place = beside.find((each) => error instanceof Error && 'path' in error && error.path === each)
    throw seen === undefined ? error : mirrorFault(place ?? file, seen, { cause: error })
  }
}

function requireSound(mirror: string, damages: readonly string[]): void {
  if (damages.length > 0)
    throw new MirrorUnusable(`${mirror}: is damaged: ${damages.slice(0, 3).join('; ')}`, { code: 'damaged' })
}

function withAdditions(said: string, added: readonly string[]): Found {
  if (added.length === 0) return said
  const named = `${added.slice(0, 5).join(', ')}${added.length > 5 ? ', …' : ''}`
  return {
    said: `${said}; someone added or changed there what may refuse a run: ${named}`,
    fix: 'Drop what nothing needs; a run that it refuses ends as foreign, and names it.',
  }
}

async function onServer(address: string): Promise<Found> {
  const shown = shownMirror(address)
  const examined = await examineServer(address)
  const { schema, version, tables, server_name, isEncrypted, isPooled } = examined
  const { unfilled, unwritable, added = [] } = tables ?? {}
  // To be asked before the mirror is read, which takes its columns for granted.
  if (unfilled != null)
    throw new MirrorUnusable(
      `${shown}: the column ${unfilled}, which someone added, has no default. Give it one, or let it be null.`,
      { code: 'foreign' },
    )
  if (!examined.may_write || unwritable != null) {
    const where = unwritable == null ? '' : `: it lacks rights to the table ${unwritable}`
    const said = `${shown}: this user may not write the schema ${schema}${where}. ${OWNER}`
    throw new MirrorUnusable(said, { code: 'denied' })
  }
  const opened = await ifThere(openMirrorToRead(address))
  if (opened !== undefined) requireSound(shown, await closing(opened, (mirror) => mirror.findDamage()))
  const rights =
    '; this user does not own its tables, and only their owner can finish forget (VACUUM), or drop an index for a long text'
  const sound = `schema ${schema} version ${version ?? '?'}, sound and writable${examined.may_vacuum ? '' : rights}`
  const state = opened === undefined ? `the schema ${schema} will be made by the first sync` : sound
  const way = `${isEncrypted ? 'TLS' : 'no TLS'}${isPooled ? ', through a pooler' : ''}`
  return withAdditions(`${shown}, PostgreSQL ${server_name}, ${way}, ${state}`, added)
}

const OWNER =
  'Name the user who owns it in the address, or have this one own it; to make it, GRANT this one CREATE on the database.'

/** What one organization needs: its secrets, its privacy, and the answer of its service. `mirror`: undefined where that cannot be asked. */
function checksOf(organization: Organization, mirror: string | undefined, signal: AbortSignal): Check[] {
  const { id, apiKey, secret, privacy } = organization
  const secrets = Object.entries({ 'API key': apiKey, secret, 'privacy key': privacy?.key })
  return [
    ...secrets.map(([what, reference]) => ({ what: `${what} of ${id}`, run: () => exposedFile(reference) })),
    { what: `privacy of ${id}`, run: () => whatIsHidden(organization, mirror) },
    { what: id, isAnswer: true, run: () => answerOf(organization, signal) },
  ]
}

/** The permissions of users who neither own a file nor belong to its group. The group may read: Kubernetes mounts secrets so. */
const EVERY_USER = process.platform === 'win32' ? 0 : 0o007

/** A file of a key or secret that every user of this machine may open. A missing one is reported where it is read. */
async function exposedFile(reference: Organization['apiKey'] | undefined): Promise<Found | undefined> {
  if (reference === undefined || !('file' in reference)) return undefined
  const { file } = reference
  const stats = await stat(file).catch(() => undefined)
  if (stats === undefined || !stats.isFile() || (stats.mode & EVERY_USER) === 0) return undefined
  const mode = (stats.mode & 0o777).toString(8).padStart(3, '0')
  return {
    said: `every user of this machine has access to ${file} (its mode is ${mode})`,
    fix: `chmod 600 ${shellWord(file)}`,
  }
}

/** What is hidden, by a key that can be read and is that of the hashes in the mirror, where this can be asked. */
async function whatIsHidden(organization: Organization, mirror: string | undefined): Promise<Found | undefined> {
  if (organization.privacy === undefined) return undefined
  const policy = await readPrivacy(organization)
  const opened = mirror === undefined ? undefined : await ifThere(openMirrorToRead(mirror))
  const stored = opened === undefined ? [] : await closing(opened, (each) => each.listPrivacy())
  const before = stored.find((each) => each.organization === organization.id)
  if (before !== undefined && isOtherKey(before.policy, policy))
    return {
      said: 'the key is not the one of the stored hashes: the next run replaces them, and those of removed customers are lost',
      fix: 'put the former key back, unless it is meant to change',
    }
  const { drop, hash } = organization.privacy
  const hidden = Object.entries({ drops: drop, hashes: hash }).filter(([, fields]) => fields.length > 0)
  return hidden.map(([does, fields]) => `${does} ${fields.join(', ')}`).join('; ')
}

/** Asks for the first page, without waiting. A few customers show as much as many. */
async function answerOf(organization: Organization, signal: AbortSignal): Promise<Found> {
  const opened = await openConfiguredSource(organization, { rateLimits: new Map(), longestWaitMs: 0, ...CLOCKS })
  return closing(opened, async (source) => {
    const size = Math.min(organization.pageSize, 15)
    const page = await source.readPage({ page: 1, size }, { signal })
    const read = page.total === undefined ? `${page.records().length} on the first page` : count(page.total, 'customer')
    const said = `answered, ${read}, ${clockWords(source.clockOffsetMs)}`
    if (source.clockCorrectionMs === 0) return said
    return {
      said: `${said}, and requests are signed with its time`,
      fix: 'Set the clock of this machine (timedatectl set-ntp true). If it is right, report it to the owner of the service.',
    }
  })
}
