import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { processEnvironment } from '../config/environment.ts'
import { chooseOrganizations, type Organization } from '../config/organization.ts'
import { exposedSecrets, type ExposedSecret } from '../config/exposed-secrets.ts'
import { readConfig, type Config } from '../config/read-config.ts'
import { unlikelyCredentials } from '../config/unlikely-credentials.ts'
import { factsOf, isOurs, MirrorUnusable } from '../errors/errors.ts'
import { nearestFolder } from '../machine/make-folder.ts'
import { isPostgres } from '../address/mirror-address.ts'
import { openMirrorIfThere } from '../mirror/mirror.ts'
import { monotonicMs } from '../machine/monotonic-clock.ts'
import { openConfiguredSource } from '../run-organization.ts'
import { checkNotify } from './check-notify.ts'
import { checkPrivacy } from './check-privacy.ts'
import { checkPublish } from './check-publish.ts'
import { checkQueue } from './check-queue.ts'
import { checkSchedule } from './check-schedule.ts'
import { failedCheck, requireSound, type Finding } from './finding.ts'
import { explainFailure } from './output/explain-failure.ts'
import { shellWord } from './output/shell-word.ts'
import { count, duration } from './output/wording.ts'
import { unusedProxy } from './unused-proxy.ts'
import { unwritableMirror } from './unwritable-mirror.ts'

/** Free space below which a mirror should not be started. */
const LOW_DISK_BYTES = 256 * 1024 * 1024

/** Checks everything a sync needs, in the order of use. Continues after a problem if possible. */
export async function* checkEverything(
  ids: readonly string[],
  file: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  yield { what: 'Node', said: process.versions.node }
  const config = await readConfig({ file, cwd: process.cwd() })
  const organizations = chooseOrganizations(config, ids)
  yield { what: 'configuration', said: `${config.file}, ${count(config.organizations.length, 'organization')}` }
  let isUnread = false
  for await (const finding of checkPlace(config)) {
    isUnread ||= finding.isUnreadable === true || (isOurs(finding.error) && factsOf(finding.error).again === 'wait')
    yield finding
  }
  yield* checkPublish(config)
  yield* checkNotify(config)
  yield* checkQueue(config)
  for (const organization of organizations) {
    if (signal.aborted) return
    for (const exposed of await exposedSecrets(organization)) yield warnOf(exposed, organization.id)
    for (const { what, ...unlikely } of await unlikelyCredentials(organization, processEnvironment()))
      yield { what: `${what} of ${organization.id}`, ...unlikely, isWarning: true }
    // A server that does not answer is waited for once, and not for each organization; what is not ours cannot be read.
    yield* checkPrivacy(organization, { mirror: isUnread ? undefined : config.mirror, config: file })
    yield* checkSchedule(organization, { file: config.file, nowMs: Date.now() })
    yield await checkOrganization(organization, signal)
  }
}

/** The mirror, and the disk that it is on; that of a server is not seen from here. */
async function* checkPlace(config: Config): AsyncGenerator<Finding> {
  if (isPostgres(config.mirror)) {
    const { checkPostgres } = await import('./check-postgres.ts')
    yield { ...(await checkPostgres(config.mirror)), isCommon: true }
    return
  }
  yield { ...(await checkMirror(config)), isCommon: true }
  yield { ...(await checkDisk(config)), isCommon: true }
}

/** Opens the mirror and has SQLite read all of it. If there is none yet, checks that one can be created. */
async function checkMirror({ mirror: file }: Config): Promise<Finding> {
  const what = 'mirror'
  try {
    const mirror = await openMirrorIfThere(file)
    if (mirror === undefined) {
      if (existsSync(file)) await access(file, constants.W_OK)
      else tryFolder(nearestFolder(dirname(file)))
      return { what, said: `${file} will be created by the first sync` }
    }
    try {
      requireSound(file, await mirror.findDamage())
      await access(file, constants.W_OK)
      return { what, said: `${file}, sound and writable` }
    } finally {
      await mirror.close()
    }
  } catch (error) {
    return isOurs(error) ? failedCheck(what, error) : { what, ...unwritableMirror(file, error) }
  }
}

/** Rights alone do not show whether anything can be made in a folder: in /proc, nothing can. */
function tryFolder(folder: string): void {
  rmdirSync(mkdtempSync(join(folder, '.customer-mirror-check-')))
}

async function checkDisk({ mirror }: Config): Promise<Finding> {
  const { bavail, bsize } = await statfs(nearestFolder(dirname(mirror)))
  const free = bavail * bsize
  const said = `${(free / 1024 ** 3).toFixed(1)} GiB free`
  if (free >= LOW_DISK_BYTES) return { what: 'disk', said }
  const error = new MirrorUnusable(`${mirror}: the disk is nearly full`, { code: 'full' })
  return { what: 'disk', said, error, fix: 'Free some space: a million customers take about half a gigabyte.' }
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

const EMPTY_FIX = 'Ask the owner of the service why its list is empty, and look for a cache or a proxy in between.'

/** One signed request, without retry, and what its answer means. */
async function checkOrganization(organization: Organization, signal: AbortSignal): Promise<Finding> {
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
      const page = await source.probe(organization.pageSize, { signal })
      const { total, size, askedSize } = page
      const received = page.records().length
      const capped = size < askedSize ? `; the service caps pages at ${size}` : ''
      const said = `answered, ${customersWords(total, received)}${capped}, ${clockWords(source.clockOffsetMs)}`
      const warning = isLeftEmpty(total, received) ? { isWarning: true, fix: EMPTY_FIX } : {}
      return { what, said, decides: true, ...warning }
    } finally {
      await source.close()
    }
  } catch (error) {
    if (signal.aborted) return { what, said: 'stopped before it answered' }
    if (!isOurs(error)) throw error
    const { title, fix } = explainFailure(error)
    const named = fix.replaceAll('<organization>', organization.id) + unusedProxy(error, processEnvironment())
    return { what, said: `${title}. ${error.message}`, error, fix: named }
  }
}

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
