import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { processEnvironment } from '../../config/environment.ts'
import { chooseOrganizations } from '../../config/organization.ts'
import { exposedSecrets, type ExposedSecret } from '../../config/checks/exposed-secrets.ts'
import type { Config } from '../../config/read-config.ts'
import { unlikelyCredentials } from '../../config/checks/unlikely-credentials.ts'
import { factsOf, isOurs, MirrorUnusable } from '../../errors/errors.ts'
import { nearestFolder } from '../../machine/make-folder.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { openMirrorIfThere } from '../../mirror/mirror.ts'
import { checkNotify } from './check-notify.ts'
import { checkOrganization } from './check-organization.ts'
import { checkPrivacy, readStoredPrivacy } from './check-privacy.ts'
import { checkPublish } from './check-publish.ts'
import { checkQueue } from './check-queue.ts'
import { checkSchedule } from './check-schedule.ts'
import { exposedMirror } from './exposed-mirror.ts'
import { failedCheck, requireSound, type Finding } from './finding.ts'
import { namedConfig } from '../arguments/named-config.ts'
import { shellWord } from '../output/shell-word.ts'
import { count } from '../output/wording.ts'
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
  const config = await namedConfig(file)
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
  // A server that does not answer is waited for once, and what is not ours cannot be read.
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
      const said = `${file}, sound and writable`
      const exposed = exposedMirror(file)
      return exposed === undefined
        ? { what, said }
        : { what, said: `${said}; ${exposed.said}`, fix: exposed.fix, isWarning: true }
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
