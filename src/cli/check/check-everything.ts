import { existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isPostgres, isSharedQueue } from '../../address/mirror-address.ts'
import { namedConfig } from '../arguments.ts'
import {
  checkOrganization,
  checkPrivacy,
  type ExposedSecret,
  exposedSecrets,
  readStoredPrivacy,
  unlikelyCredentials,
} from './check-organization.ts'
import { additionsFinding, failedCheck, type Finding, requireSound, soundFinding } from './finding.ts'
import { count, moment, shellWord } from '../output/wording.ts'
import { isPasswordInFile } from '../../config/addresses.ts'
import { readWebhookSecret } from '../../config/credentials.ts'
import { processEnvironment } from '../../config/environment.ts'
import { chooseOrganizations, type Organization } from '../../config/organization.ts'
import type { Config } from '../../config/read-config.ts'
import { type BucketPlan, configuredPlans, placeOf, type TargetPlan } from '../../copies/publish-plan.ts'
import { checkTargets } from '../../copies/target-place.ts'
import { ConfigError, factsOf, isOurs } from '../../errors/errors.ts'
import { mirrorFault, seenIn } from '../../errors/faults.ts'
import { nearestFolder } from '../../machine/folders.ts'
import { findAdditions, openMirrorIfThere } from '../../store/mirror.ts'

/** Checks everything a sync needs, in the order of use. Continues after a problem if possible. */
export async function* checkEverything(
  ids: readonly string[],
  file: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  yield { what: 'Node', said: process.versions.node }
  const config = await namedConfig(file)
  const organizations = chooseOrganizations(config, ids)
  yield { what: 'configuration', said: `${config.file}, ${count(config.organizations.length, 'organization')}` }
  const place = await checkPlace(config)
  yield place
  yield* checkPublish(config)
  yield* checkNotify(config)
  yield* checkQueue(config)
  // A server that does not answer is waited for once, and what is not ours cannot be read.
  const isUnread = place.isUnreadable === true || (isOurs(place.error) && factsOf(place.error).again === 'wait')
  const privacy = isUnread ? undefined : await readStoredPrivacy(config.mirror)
  for (const organization of organizations) {
    if (signal.aborted) return
    for (const exposed of await exposedSecrets(organization)) yield warnOf(exposed, organization.id)
    for (const { what, ...unlikely } of await unlikelyCredentials(organization, processEnvironment()))
      yield { what: `${what} of ${organization.id}`, ...unlikely, isWarning: true }
    const stored = privacy?.get(organization.id)
    yield* checkPrivacy(organization, { stored, mirror: config.mirror, config: file, signal })
    yield* checkSchedule(organization, { file: config.file, nowMs: Date.now() })
    yield await checkOrganization(organization, signal)
  }
}

/** The mirror, in a file or on a server. */
async function checkPlace(config: Config): Promise<Finding> {
  if (!isPostgres(config.mirror)) return { ...(await checkMirror(config)), isCommon: true }
  const { checkPostgres } = await import('./check-postgres.ts')
  return { ...(await checkPostgres(config.mirror)), isCommon: true }
}

/** Opens the mirror and has SQLite read all of it. If there is none yet, checks that one can be created. */
async function checkMirror({ mirror: file }: Config): Promise<Finding> {
  const what = 'mirror'
  try {
    const mirror = await openMirrorIfThere(file)
    if (mirror === undefined) {
      if (existsSync(file)) await access(file, constants.W_OK)
      // Rights alone do not show whether anything can be made in a folder: in /proc, nothing can.
      else rmdirSync(mkdtempSync(join(nearestFolder(dirname(file)), '.customer-mirror-check-')))
      return { what, said: `${file} will be created by the first sync` }
    }
    try {
      requireSound(file, await mirror.findDamage())
      const added = additionsFinding(await findAdditions(file))
      await access(file, constants.W_OK)
      return soundFinding(`${file}, sound and writable`, [exposedMirror(file), added])
    } finally {
      await mirror.close()
    }
  } catch (error) {
    const seen = seenIn(error)
    return failedCheck(what, seen === undefined ? error : mirrorFault(file, seen, { cause: error }))
  }
}

function warnOf({ file, what, mode, isOwn }: ExposedSecret, organization: string): Finding {
  const path = shellWord(file)
  return {
    what: `${what} of ${organization}`,
    said: `every user of this machine has access to ${file} (its mode is ${mode})`,
    fix: isOwn ? `chmod 600 ${path}` : `sudo chown "$(id -un)" ${path}; sudo chmod 600 ${path}`,
    isWarning: true,
  }
}

/** Where nights will be reported, and whether the secret that signs these reports can be read. Nothing is sent. */
async function* checkNotify({ notify, heartbeat }: Pick<Config, 'notify' | 'heartbeat'>): AsyncGenerator<Finding> {
  if (notify !== undefined) yield await checkSecret(notify)
  // A path may hold a token.
  if (heartbeat !== undefined)
    yield { what: 'heartbeat', said: `a request to ${heartbeat.url.host} after each good night` }
}

async function checkSecret({ url, secret, only }: NonNullable<Config['notify']>): Promise<Finding> {
  const what = 'notify'
  const nights = only === 'failures' ? 'each night with a failure' : 'each night'
  const said = `a report of ${nights} to ${url.host}`
  if (secret === undefined) return { what, said: `${said}, not signed` }
  try {
    await readWebhookSecret(secret)
    return { what, said: `${said}, signed` }
  } catch (error) {
    return failedCheck(what, error)
  }
}

/**
 * Whether the copy for readers could be made where the configuration says; nothing where it asks for none. A bucket is asked for by
 * one request that changes nothing.
 */
async function* checkPublish(config: Config): AsyncGenerator<Finding> {
  const what = 'publish'
  for (const plan of configuredPlans(config)) {
    try {
      yield { what, said: 'to' in plan ? await answerOfBucket(plan) : describeTargets(plan) }
    } catch (error) {
      yield failedCheck(what, error)
    }
  }
}

function describeTargets(plan: Exclude<TargetPlan, BucketPlan>): string {
  const [first = placeOf(plan), ...others] = checkTargets(plan)
  const more = others.length === 0 ? '' : ` and ${count(others.length, 'other copy', 'other copies')}`
  return `${first}${more} can be made`
}

/** The client of object storage is loaded only where it is needed. */
async function answerOfBucket(plan: BucketPlan): Promise<string> {
  const { openS3Store } = await import('../../copies/objects/s3-store.ts')
  const store = openS3Store(plan, processEnvironment())
  try {
    await store.ask()
    return `${placeOf(plan)} answered; what may be written there shows when it is published`
  } finally {
    store.close()
  }
}

/**
 * Whether the queue on a server answers and keeps what it is given, and whether its password is where it belongs; nothing where none is
 * configured, or where it is embedded in its worker.
 */
async function* checkQueue({ queue }: Pick<Config, 'queue'>): AsyncGenerator<Finding> {
  if (!isSharedQueue(queue)) return
  const what = 'queue'
  if (isPasswordInFile(queue, processEnvironment())) yield { what, ...PASSWORD_IN_FILE, isWarning: true }
  const { probeQueue } = await import('../../../jobs/queue/backend.ts')
  try {
    const { place, dropsKeysBy } = await probeQueue(queue)
    yield { what, said: `${place} answered` }
    if (dropsKeysBy !== undefined) yield { what, ...dropsKeys(dropsKeysBy), isWarning: true }
  } catch (error) {
    yield { ...failedCheck(what, error), isCommon: true }
  }
}

const PASSWORD_IN_FILE = {
  said: 'its password stands in the configuration file, for every reader of that file',
  fix: 'put the whole address into the environment variable CUSTOMER_MIRROR_QUEUE, and take queue out of the file.',
}

function dropsKeys(policy: string) {
  return {
    said: `its server drops keys when it is full (maxmemory-policy ${policy}): jobs, schedules and pauses may vanish`,
    fix: 'set maxmemory-policy to noeviction in the configuration of that server.',
  }
}

/** The permissions of users who neither own a file nor belong to its group. */
const EVERY_USER = 0o007
const ENTER = 0o001

/** What `check` says of a mirror file that every user of this machine may open; undefined where none may. */
export function exposedMirror(file: string): { said: string; fix: string } | undefined {
  const [folder, { mode }] = [statSync(dirname(file)), statSync(file)]
  if ((folder.mode & ENTER) === 0 || (mode & EVERY_USER) === 0 || process.platform === 'win32') return undefined
  return {
    said: `every user of this machine has access to it (its mode is ${(mode & 0o777).toString(8)})`,
    fix: 'The next run makes it private. Where its file system keeps no modes (FAT, exFAT, NTFS), mount that with umask=077, or keep the mirror elsewhere.',
  }
}

/**
 * Whether a worker would take the schedule of an organization, judged as the worker and `schedule` judge it; then when it has quick
 * runs, and what each may cost.
 */
async function* checkSchedule(
  organization: Organization,
  { file, nowMs }: { file: string; nowMs: number },
): AsyncGenerator<Finding> {
  const { id, schedule } = organization
  if (schedule === undefined) return
  const { quickOutlook, scheduleMistakes } = await import('../../../jobs/schedule/due-times.ts')
  const mistakes = scheduleMistakes({ organizations: [organization], file }, nowMs)
  if (mistakes.length > 0) {
    const said = mistakes.map(({ message }) => message).join('\n')
    const fix = 'Change that line of the schedule.'
    yield { what: `schedule of ${id}`, said, error: new ConfigError(mistakes), fix }
    return
  }
  const what = `quick runs of ${id}`
  const outlook = quickOutlook(id, schedule, nowMs)
  if (outlook === undefined) return
  const { inADay, nextMs, isAlwaysAtNight } = outlook
  if (isAlwaysAtNight) {
    const said = `at each of their moments ("${schedule.quick}") the whole list is read anyway, so none is made`
    yield { what, said, fix: 'Name moments between the runs of cron, or remove quick.', isWarning: true }
    return
  }
  const said = `${count(inADay, 'run')} in the next 24 hours, the next at ${moment(nextMs)}, ${QUICK_LIMIT}`
  yield { what, said }
}

const QUICK_LIMIT = 'each with at most a twelfth of the requests of a full scan, or 40 if that is more'
