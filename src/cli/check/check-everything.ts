import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { processEnvironment } from '../../config/environment.ts'
import { chooseOrganizations } from '../../config/organization.ts'
import { exposedSecrets, type ExposedSecret } from '../../config/checks/exposed-secrets.ts'
import type { Config } from '../../config/read-config.ts'
import { unlikelyCredentials } from '../../config/checks/unlikely-credentials.ts'
import { factsOf, isOurs } from '../../errors/errors.ts'
import { mirrorFault, seenIn } from '../../errors/faults.ts'
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
import { namedConfig } from '../arguments.ts'
import { shellWord, count } from '../output/wording.ts'

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
