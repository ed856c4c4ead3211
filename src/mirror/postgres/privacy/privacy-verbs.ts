import { isOurs } from '../../../errors/errors.ts'
import { hiddenValues } from '../../../privacy/hidden-values.ts'
import type { Run } from '../../../run.ts'
import type { Mirror, StoredPrivacy } from '../../../store.ts'
import { listedPolicy, type PolicyColumns } from '../../rules/policy-of-rows.ts'
import { HOLDING_TABLES } from '../holding-tables.ts'
import { renewLease } from '../run/lease.ts'
import type { Database, Session } from '../session.ts'
import { vacuum } from '../vacuum.ts'
import { rewriteSome } from './rewrite-hidden.ts'
import { findPolicy } from './start-privacy.ts'

/** The verbs of a mirror that hide stored values; `applyPrivacy` is for runs of which `isPrivacyOwed` holds. */
export function privacyVerbs(database: Database): Pick<Mirror, 'applyPrivacy' | 'listPrivacy'> {
  return {
    applyPrivacy: async (run, nowMs) => {
      if (await database.write((session) => rewritePrivacy(session, run, nowMs))) return true
      if (await isFreed(database)) await database.write(notePurged)
      return false
    },
    listPrivacy: () => database.read(listPrivacy),
  }
}

/** Whether no statement finds the old values any more. If not, the run is as good without, and the next one tries again. */
async function isFreed(database: Database): Promise<boolean> {
  try {
    return await vacuum(database, HOLDING_TABLES)
  } catch (error) {
    if (isOurs(error)) return false
    throw error
  }
}

/** Rewrites some stored values; true while more are left. The caller holds the transaction. */
async function rewritePrivacy(session: Session, run: Run, nowMs: number): Promise<boolean> {
  await renewLease(session, run)
  const { organization, privacy } = run
  const stored = await findPolicy(session, organization)
  if (privacy === undefined || stored?.next === undefined) return false
  const hidden = hiddenValues(stored.policy, privacy.policy)
  const { place } = stored
  const next = hidden === undefined ? undefined : await rewriteSome(session, run, { hidden, place, nowMs })
  if (next !== undefined) {
    const go = 'UPDATE privacy_policies SET next_table = $1, next_row = $2 WHERE organization = $3'
    await session.run(go, next.table, next.row, organization)
    return true
  }
  await session.run(
    `UPDATE privacy_policies SET policy = next_policy, next_policy = NULL, next_table = NULL, next_row = NULL
     WHERE organization = $1`,
    organization,
  )
  return false
}

/** To be called once no statement finds the old values. */
async function notePurged(session: Session): Promise<void> {
  await session.run('UPDATE privacy_policies SET is_unpurged = false WHERE next_policy IS NULL AND is_unpurged')
}

/** The policy of each organization that has one; while values are rewritten, the one they will follow. */
async function listPrivacy(session: Session): Promise<StoredPrivacy[]> {
  const list = 'SELECT * FROM privacy_policies ORDER BY organization'
  return (await session.all<PolicyColumns & { organization: string }>(list)).map(listedPolicy)
}
