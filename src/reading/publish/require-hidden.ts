import { CopyFailed } from '../../errors/errors.ts'
import { openMirrorToRead } from '../../store/mirror.ts'
import { isHiddenBy } from '../../privacy/privacy-policy.ts'
import type { StoredPrivacy } from '../../store.ts'
import type { AnyPlan } from './publish-plan.ts'
import { findRecorded } from './recorded-runs.ts'

/**
 * Throws CopyFailed while the mirror at `address` shows what the configuration hides, as after a restore or a change of the policy: the next
 * run of the organization rewrites its values, and readers keep the copy from before until then.
 */
export async function requireHidden({ hidden }: Pick<AnyPlan, 'hidden'>, address: string): Promise<void> {
  if (hidden === undefined) return
  const configured = new Map(Object.entries(hidden))
  const stored = await listPrivacy(address)
  // Others have no rows in a copy.
  const { read } = await findRecorded(address)
  const shown = read.filter((id) => {
    const wanted = configured.get(id)
    if (wanted === undefined) return false
    const found = stored.find(({ organization }) => organization === id)
    return found === undefined || found.left === 'values' || !isHiddenBy(found.policy, wanted)
  })
  if (shown.length === 0) return
  throw new CopyFailed(
    `The mirror still holds values that the privacy policy hides, of ${named(shown)}. Nothing was published, and the copy from before is ` +
      "unchanged. The next run hides them: 'customer-mirror sync', then publish again.",
    { code: 'unhidden' },
  )
}

async function listPrivacy(address: string): Promise<StoredPrivacy[]> {
  const mirror = await openMirrorToRead(address)
  try {
    return await mirror.listPrivacy()
  } finally {
    await mirror.close()
  }
}

function named(organizations: readonly string[]): string {
  const more = organizations.length - MOST_NAMED
  return organizations.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const MOST_NAMED = 10
