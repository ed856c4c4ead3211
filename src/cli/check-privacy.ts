import { readPrivacy } from '../config/credentials.ts'
import type { Organization } from '../config/organization.ts'
import { isOurs } from '../errors/errors.ts'
import { sleep } from '../machine/sleep.ts'
import { openMirrorIfThere } from '../mirror/mirror.ts'
import { isOtherKey, isSamePolicy, NOTHING_HIDDEN, type PrivacyPolicy } from '../privacy/privacy-policy.ts'
import type { StoredPrivacy } from '../store.ts'
import { failedCheck, type Finding } from './finding.ts'
import { configOption } from './output/shell-word.ts'
import { shownMirror } from '../address/mirror-address.ts'

/**
 * What an organization hides, whether its key can be read, and, unless `mirror` is undefined, whether what is stored there follows it.
 * `config`: the file that the user named.
 */
export async function* checkPrivacy(
  organization: Organization,
  { mirror, config, signal }: { mirror: string | undefined; config: string | undefined; signal: AbortSignal },
): AsyncGenerator<Finding> {
  const what = `privacy of ${organization.id}`
  const policy = await policyOf(organization, signal)
  if ('error' in policy) {
    yield failedCheck(what, policy.error)
    return
  }
  const stored = mirror === undefined ? undefined : await storedIn(mirror, organization.id)
  if (organization.privacy !== undefined) yield { what, said: inWords(organization.privacy) }
  if (mirror === undefined || stored === undefined) return
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

type Compared = { policy: PrivacyPolicy; stored: Omit<StoredPrivacy, 'organization'>; mirror: string; sync: string }

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

/** Undefined where nothing is stored, or the mirror cannot be read, which is a finding of its own. */
async function storedIn(address: string, id: string): Promise<Compared['stored'] | undefined> {
  try {
    const mirror = await openMirrorIfThere(address)
    if (mirror === undefined) return undefined
    try {
      if ((await mirror.listRuns({ organization: id, limit: 1 })).length === 0) return undefined
      const stored = (await mirror.listPrivacy()).find(({ organization }) => organization === id)
      return stored ?? { policy: NOTHING_HIDDEN, left: 'nothing' }
    } finally {
      await mirror.close()
    }
  } catch (error) {
    if (isOurs(error)) return undefined
    throw error
  }
}
