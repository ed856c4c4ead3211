import { readPrivacy } from '../../config/credentials.ts'
import type { Organization } from '../../config/organization.ts'
import { isOurs } from '../../errors/errors.ts'
import { sleep } from '../../machine/sleep.ts'
import { openMirrorIfThere } from '../../mirror/mirror.ts'
import { isOtherKey, isSamePolicy, NOTHING_HIDDEN, type PrivacyPolicy } from '../../privacy/privacy-policy.ts'
import type { StoredPrivacy } from '../../store.ts'
import { failedCheck, type Finding } from './finding.ts'
import { configOption } from '../output/wording.ts'
import { shownMirror } from '../../address/mirror-address.ts'

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
